// SPDX-License-Identifier: Apache-2.0
// The transports of device memory in a build without CUDA.
#include "collectives/transport/nccl.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {

std::unique_ptr<Communicator> make_cuda_ipc_communicator(Communicator& /*control*/) {
  fail<Unavailable>("transport cuda_ipc: {}", why_no_device());
}

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& /*control*/,
                                                     std::optional<Registration> /*registration*/) {
  fail<Unavailable>("transport nccl: {}", why_no_device());
}

int nccl_version_code() { return 0; }
std::string nccl_version() { return {}; }

}  // namespace scalebench
