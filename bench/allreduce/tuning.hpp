// SPDX-License-Identifier: Apache-2.0
// From what the algorithm `auto` chooses: a short trial of all algorithms before the first case.
// All ranks come to the same table.
#pragma once

#include <memory>

#include "bench/allreduce/measure.hpp"
#include "collectives/allreduce.hpp"

namespace scalebench {

/// For which cases a table holds.
struct AllreduceSetting {
  AllreducePlace place;
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  bool operator==(const AllreduceSetting&) const = default;
};

using SharedChoices = std::shared_ptr<const AllreduceChoices>;

/// Collective: a few repetitions of every algorithm that works, in place, from `smallest_bytes` to
/// `largest_bytes` in factors of 4. Throws Unavailable when there is none.
SharedChoices tune(const AllreduceBench& bench, Communicator& host, const AllreduceSetting& setting,
                   const AllreduceMethod& method, std::size_t smallest_bytes,
                   std::size_t largest_bytes);

}  // namespace scalebench
