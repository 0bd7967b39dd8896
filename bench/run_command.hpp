// SPDX-License-Identifier: Apache-2.0
// `scalebench run config.toml`: plan, launch everything, put the rows together, draw, report.
#pragma once

#include <filesystem>
#include <vector>

#include "bench/exit_code.hpp"
#include "bench/study_setup.hpp"

namespace scalebench {

struct RunOptions : StartOptions {
  std::filesystem::path config;
  std::vector<int> ranks;  // instead of the config's
  int launches = 0;        // instead of the config's; 0: as there
};

ExitCode run_study(const RunOptions& options);

}  // namespace scalebench
