// SPDX-License-Identifier: Apache-2.0
// What everyone who starts Open MPI's mpirun says to it, a study and processes that met alike.
#pragma once

#include <array>

namespace scalebench {

/// Without yielding, ranks that share a core wait for each other in whole time slices.
inline constexpr std::array<const char*, 3> kYieldWords{"--mca", "mpi_yield_when_idle", "1"};

/// A link that is cut is noticed within five seconds; without these mpirun hangs for ever.
inline constexpr std::array<const char*, 9> kKeepaliveWords{
    "--mca", "oob_tcp_keepalive_time",   "2",  //
    "--mca", "oob_tcp_keepalive_intvl",  "1",  //
    "--mca", "oob_tcp_keepalive_probes", "3"};

}  // namespace scalebench
