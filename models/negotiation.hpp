// SPDX-License-Identifier: Apache-2.0
// Which gradients are ready on every rank: an allreduce of one flag each, whose minimum is 1 where
// nobody is missing. Cost: the latency of an allreduce of 4 bytes a gradient, however few are new.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/allreduce.hpp"

namespace scalebench {

class Negotiation {
 public:
  /// Collective, the same `count` on every rank.
  Negotiation(Communicator& communicator, const AllreduceAlgorithm& allreduce, std::size_t count);

  /// Collective: 1 where every rank said 1, else 0.
  std::vector<std::int32_t> agree(std::vector<std::int32_t> mine);

 private:
  Communicator& communicator_;
  const AllreduceAlgorithm& allreduce_;
  Window flags_;
};

}  // namespace scalebench
