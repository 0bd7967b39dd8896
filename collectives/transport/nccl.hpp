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

// Several ranks on one device under NCCL: refused before 2.30.3 ("Duplicate GPU detected"), from
// there on an experiment that the variable NCCL_MULTI_RANK_GPU_ENABLE=1 allows.

/// Why NCCL of this version (as ncclGetVersion says it, 0: none) takes no two ranks on one device
/// whatever it is told; empty: it does when it is told to.
std::string why_nccl_cannot_share(int version);

/// Tells the NCCL of this process to take them; before its first communicator. Throws UsageError
/// where it cannot.
void let_nccl_share_devices();

/// Whether this process' NCCL takes them: new enough, and told to, here or by who started it.
bool nccl_shares_devices();

/// ncclGetVersion's number of the library at run time; 0 in a build without NCCL.
int nccl_version_code();

/// "2.28.3" of 22803; empty of 0.
std::string nccl_version_text(int code);

}  // namespace scalebench
