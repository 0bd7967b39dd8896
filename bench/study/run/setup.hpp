// SPDX-License-Identifier: Apache-2.0
// What belongs to this program, wherever it was built or unpacked: its folders, the programs that
// it starts, what it is linked with, and the scripts that draw.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/launch/doctor.hpp"
#include "bench/launch/launcher.hpp"
#include "bench/machine/environment.hpp"

namespace scalebench {

std::filesystem::path programs_folder();
std::filesystem::path scripts_folder();
/// The file of that path, else the config of that name in configs_folder(): "quick".
std::string config_named(const std::string& name);
std::filesystem::path configs_folder();

/// A folder of programs, and what they were built from.
struct Build {
  std::filesystem::path programs;
  BuildInfo tool;
};
Build own_build();
/// The programs in `folder`, or in its bin, say themselves what they are. Throws UsageError where
/// there are none, or none that start here.
Build build_in(const std::filesystem::path& folder);

/// SHA-256 of each program of the plan. Throws UsageError when one is not built.
std::map<std::string, std::string> hashes_of_programs(const std::vector<PlannedLaunch>& plan,
                                                      const std::filesystem::path& programs);
/// Of this machine, with what this program is linked with.
Environment environment_here();
/// What the doctor is to look at here.
DoctorInputs doctor_inputs(const std::string& mpirun, const std::filesystem::path& results);

// Drawing what was measured: the Python package makes figures and reports from a folder's files.

/// Runs `what`, a command of scripts/scalebench, on a finished folder, with `more` arguments. A
/// failure costs a picture and never a result: it is a warning with its reason. Returns whether it
/// succeeded.
bool draw(const std::filesystem::path& folder, std::string_view what, Console& console,
          const std::vector<std::string>& more = {});

/// The figures of a run, where there is a matplotlib, and its report.html; whether there is one.
bool draw_run(const std::filesystem::path& folder, Console& console,
              const std::vector<std::string>& more = {});

/// The figure of a comparison, where it has costs and there is a matplotlib, and its report.html;
/// whether there is one.
bool draw_comparison(const std::filesystem::path& folder, Console& console);

}  // namespace scalebench
