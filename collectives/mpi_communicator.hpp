// SPDX-License-Identifier: Apache-2.0
// Host memory over MPI: exchange by nonblocking send and receive, native by MPI_Allreduce.
#pragma once

#include <memory>

#include "collectives/communicator.hpp"

namespace scalebench {

/// A communicator over all ranks of MPI_COMM_WORLD (duplicated, so its messages meet no others).
/// Collective. An MpiSession must be alive, and outlive the result.
std::unique_ptr<Communicator> make_mpi_communicator();

}  // namespace scalebench
