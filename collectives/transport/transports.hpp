// SPDX-License-Identifier: Apache-2.0
// Over what ranks that are processes communicate; NCCL has a header of its own.
#pragma once

#include <memory>

#include "collectives/communicator.hpp"

namespace scalebench {

// Memory of hosts, or of devices where the MPI is CUDA-aware, over MPI: exchange by nonblocking
// send and receive, between nodes in short pieces; native by MPI_Allreduce.

/// A communicator over the ranks of MPI_COMM_WORLD; its messages meet no others. Collective. An
/// MpiSession must be alive, and outlive the result. With Memory::device every rank has selected
/// its device before, MPI gets the device's addresses, and messages are done when an exchange
/// returns; throws Unavailable, on every rank, without a device and when this MPI does not say at
/// run time that it is CUDA-aware.
std::unique_ptr<Communicator> make_mpi_communicator(Memory memory = Memory::host);

// Host memory that all ranks of a host address directly: windows are mapped into every process, so
// that peer() works and long messages are copied once. Ranks of other hosts are reached through the
// control transport.

/// Collective. `control` must outlive the result; it introduces the ranks to each other, and
/// carries what goes to other hosts. Throws Unavailable, on every rank, when ranks of one host
/// cannot map each other's memory.
std::unique_ptr<Communicator> make_shared_memory_communicator(Communicator& control);

// Device memory of the ranks of one host, addressed directly: every window is mapped into every
// process by CUDA IPC, so that kernels of one rank read and write the memory of another, on the
// same card or over NVLink or PCIe. Barriers wait on the host, messages only meet there.

/// Collective over the ranks of `control`, a host transport, which carries handles and barriers and
/// must outlive the result. Every rank has selected its device before, also in any other thread
/// that uses the result; several ranks may share one. Ranks may be processes, or threads of one.
/// An exchange is enqueued when it returns: per piece the hosts meet, by two cache lines that cross
/// between cores, and the streams wait for each other's events. What lies in no window goes in
/// pieces through one, with a copy more. Throws Unavailable, on every rank, without CUDA or a
/// device, when the ranks are on several hosts, and when a rank cannot address another's memory or
/// wait for its events, which is tried out.
std::unique_ptr<Communicator> make_cuda_ipc_communicator(Communicator& control);

}  // namespace scalebench
