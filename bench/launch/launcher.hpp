// SPDX-License-Identifier: Apache-2.0
// The launchers of launcher.def: each turns a launch into the words that start its ranks, up to the
// program. Words are an argv; no shell ever sees them.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/launch/process.hpp"

namespace scalebench {

// Which MPI a text names, so that the launcher can be compared with the library. With two different
// ones every rank becomes a world of its own, and N of them look like perfect scaling.

struct MpiVersion {
  std::string family;   // "Open MPI", "MPICH", "Intel MPI"; empty: not recognized
  std::string version;  // "4.1.4"; may be empty

  std::string text() const;
};

/// Reads what `mpirun --version` prints or what MPI_Get_library_version says.
MpiVersion mpi_version_in(std::string_view text);

struct Launcher {
  std::string_view name;     // "open_mpi"
  std::string_view command;  // its usual name: "mpirun"
  std::string_view family;   // of the MPI that its programs are linked with; "any"
  std::string_view what;
  /// The words before the program. `hosts`: where the ranks go, in their order, `per_node` on each;
  /// empty: left to the launcher.
  std::vector<std::string> (*words)(const PlannedLaunch& launch, const LaunchSettings& settings,
                                    const Hosts& hosts);
};

std::span<const Launcher> launchers();
/// Throws UsageError with the valid names.
const Launcher& launcher_named(std::string_view name);
/// Which one prints this for --version; null: none of them.
const Launcher* launcher_that_says(std::string_view version);

/// Whether a launcher's arguments already say which hosts.
bool names_hosts(const std::vector<std::string>& arguments);

/// The variables that ranks on other hosts need too: all of the settings' but the launcher's own.
std::vector<std::pair<std::string, std::string>> variables_for_ranks(
    const LaunchSettings& settings);

// What everyone who starts Open MPI's mpirun says to it, a study and processes that met alike.

/// Without yielding, ranks that share a core wait for each other in whole time slices.
inline constexpr std::array<const char*, 3> kYieldWords{"--mca", "mpi_yield_when_idle", "1"};

/// A link that is cut is noticed within five seconds; without these mpirun hangs for ever.
inline constexpr std::array<const char*, 9> kKeepaliveWords{
    "--mca", "oob_tcp_keepalive_time",   "2",  //
    "--mca", "oob_tcp_keepalive_intvl",  "1",  //
    "--mca", "oob_tcp_keepalive_probes", "3"};

}  // namespace scalebench
