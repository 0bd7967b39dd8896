// SPDX-License-Identifier: Apache-2.0
// `scalebench run config.toml`: plan, launch everything, put the rows together, draw, report.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/exit_code.hpp"

namespace scalebench {

struct RunOptions {
  std::filesystem::path config;
  std::filesystem::path results = "results";  // new folders go here
  std::string out;                            // this new folder instead
  std::vector<int> ranks;                     // instead of the config's
  int launches = 0;                           // instead of the config's; 0: as there
  bool oversubscribe = false;
  bool dry_run = false;
  bool quiet = false;
  std::string mpirun = "mpirun";
  std::vector<std::string> command;  // argv as typed
};

ExitCode run_study(const RunOptions& options);

/// Folders that belong to this program, wherever it was built or unpacked.
std::filesystem::path programs_folder();
std::filesystem::path scripts_folder();

}  // namespace scalebench
