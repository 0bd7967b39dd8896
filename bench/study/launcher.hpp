// SPDX-License-Identifier: Apache-2.0
// The launchers of launcher.def: each turns a launch into the words that start its ranks, up to the
// program. Words are an argv; no shell ever sees them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/study/launch.hpp"

namespace scalebench {

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

}  // namespace scalebench
