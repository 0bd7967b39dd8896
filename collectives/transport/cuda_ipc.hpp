// SPDX-License-Identifier: Apache-2.0
// Device memory of the ranks of one host, addressed directly: every window is mapped into every
// process by CUDA IPC, so that kernels of one rank read and write the memory of another, on the
// same card or over NVLink or PCIe. Barriers and messages meet on the host.
#pragma once

#include <memory>

#include "collectives/communicator.hpp"

namespace scalebench {

/// Collective over the ranks of `control`, a host transport, which carries handles and barriers and
/// must outlive the result. Every rank has selected its device before, also in any other thread
/// that uses the result; several ranks may share one. Ranks may be processes, or threads of one.
/// An exchange is done when it returns: per piece both sides synchronise their streams and two
/// cache lines cross between cores. What lies in no window goes in pieces through one, with a copy
/// more. Throws Unavailable, on every rank, without CUDA or a device, when the ranks are on several
/// hosts, and when a rank cannot address another's memory.
std::unique_ptr<Communicator> make_cuda_ipc_communicator(Communicator& control);

}  // namespace scalebench
