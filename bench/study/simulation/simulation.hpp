// SPDX-License-Identifier: Apache-2.0
// A simulation as a run of its own: for each number of nodes a platform file, one start of smpirun
// on simulate_allreduce, and what it printed as rows of allreduce.csv with origin `predicted`.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/simulation/platform.hpp"

namespace scalebench {

struct SimulationPlan {
  std::vector<Platform> platforms;  // one start each
  std::vector<std::string> algorithms;
  std::vector<std::size_t> sizes;  // bytes
  double reduce_seconds_per_byte = 0;
  std::string reduce_source;  // "reductions cost nothing", ...
  std::string smpirun = "smpirun";
  std::filesystem::path program;   // simulate_allreduce
  double deadline_seconds = 3600;  // of one start
};

/// "simulate-p3.8xlarge": of the run's folder.
std::string study_of(const SimulationPlan& plan);

/// One line: what is simulated, and that it is.
std::string describe(const SimulationPlan& plan);

/// argv of one start, whose platform file and hostfile are in `folder`.
std::vector<std::string> command_of(const SimulationPlan& plan, const Platform& platform,
                                    const std::filesystem::path& folder);

/// "p3.8xlarge-n64": the folder of a start, after its number.
std::string name_of(const Platform& platform);

/// Starts all of them and writes, as an import does, launches/, samples.csv, allreduce.csv and the
/// manifest, sealed when nothing failed and `stop` stayed false. Returns the rows of allreduce.csv.
/// `manifest` has what is known before.
std::vector<ResultRow> simulate(const SimulationPlan& plan, const ResultsFolder& folder,
                                Manifest manifest, const std::atomic<bool>& stop, Console& console);

/// The rows beside what the alpha-beta formula says of a ring, where it is exact.
std::string simulation_table(const SimulationPlan& plan, const std::vector<ResultRow>& rows);

}  // namespace scalebench
