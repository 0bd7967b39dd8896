// SPDX-License-Identifier: Apache-2.0
// Device memory over NCCL: exchange by ncclSend/ncclRecv, native by ncclAllReduce, reductions by
// the suite's own kernel on the same stream; windows are registered with NCCL where it can.
#pragma once

#include <memory>
#include <string>

#include "collectives/communicator.hpp"
#include "kernels/device.hpp"

namespace scalebench {

/// Collective over the ranks of `control`, a host transport, which carries the NCCL id and the
/// barriers and must outlive the result. Every rank has selected its device before. wait() throws
/// Error, after it has aborted the communicator, when NCCL reports that a peer or the network
/// failed. Throws Unavailable, on every rank, in a build without NCCL, without a device, and when
/// two ranks chose the same card, unless nccl_shares_devices().
std::unique_ptr<Communicator> make_nccl_communicator(Communicator& control);

/// "2.28.3": the library at run time; empty in a build without NCCL.
std::string nccl_version();

}  // namespace scalebench
