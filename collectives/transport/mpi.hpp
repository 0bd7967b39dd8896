// SPDX-License-Identifier: Apache-2.0
// Memory of hosts, or of devices where the MPI is CUDA-aware, over MPI: exchange by nonblocking
// send and receive, between nodes in short pieces; native by MPI_Allreduce.
#pragma once

#include <memory>

#include "collectives/communicator.hpp"

namespace scalebench {

/// A communicator over all ranks of MPI_COMM_WORLD (duplicated, so its messages meet no others).
/// Collective. An MpiSession must be alive, and outlive the result. With Memory::device every rank
/// has selected its device before, MPI gets the device's addresses, and messages are done when an
/// exchange returns; throws Unavailable, on every rank, without a device and when this MPI does not
/// say at run time that it is CUDA-aware.
std::unique_ptr<Communicator> make_mpi_communicator(Memory memory = Memory::host);

}  // namespace scalebench
