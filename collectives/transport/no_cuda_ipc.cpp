// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/cuda_ipc.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {

std::unique_ptr<Communicator> make_cuda_ipc_communicator(Communicator& /*control*/) {
  fail<Unavailable>("transport cuda_ipc: {}", why_no_device());
}

}  // namespace scalebench
