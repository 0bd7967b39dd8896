// SPDX-License-Identifier: Apache-2.0
// Which communicator moves the gradients or the benchmark's buffers: MPI on host memory, or NCCL
// with one device per rank of a host.
#pragma once

#include <memory>
#include <string_view>

#include "bench/program.hpp"

namespace scalebench {

class AllreduceTransport {
 public:
  /// Collective. `name`: mpi, nccl, or auto (nccl where every rank has a device of its own). Throws
  /// Unavailable when nccl is asked for and impossible.
  AllreduceTransport(const Ranks& ranks, std::string_view name);
  Communicator& communicator() const { return *communicator_; }

 private:
  std::unique_ptr<Communicator> owned_;
  Communicator* communicator_;
};

/// Collective: whether every rank has a device of its own.
bool every_rank_has_a_device(const Ranks& ranks);

}  // namespace scalebench
