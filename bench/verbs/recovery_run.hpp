// SPDX-License-Identifier: Apache-2.0
// One training three times: undisturbed, with a rank that is killed or stopped, and on from the
// last checkpoint. As a run of its own, with recovery.csv.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/launch.hpp"

namespace scalebench {

struct RecoveryPlan {
  std::string fault;     // "kill" or "stop"
  std::string fault_at;  // RANK@STEP
  int ranks = 2;
  int nodes = 1, per_node = 2;  // whose product they are
  int epochs = 3;
  int checkpoint_every = 1;            // epochs
  int repetitions = 1;                 // each beside an undisturbed training, in random order
  std::uint64_t seed = 1;              // of that order
  std::vector<std::string> arguments;  // of bench_epoch: what is trained
  LaunchSettings settings;
  double deadline_seconds = 3600;  // of one start

  std::string participle() const { return fault == "kill" ? "killed" : "stopped"; }
};

/// A start of bench_epoch, with what is trained and `more` as its arguments.
PlannedLaunch launch_of(const RecoveryPlan& plan, int number, const std::string& name,
                        const std::vector<std::string>& more);

/// Measures all repetitions and writes recovery.csv, samples.csv and the manifest, sealed unless
/// `stop` became true. Returns the rows of recovery.csv. Throws UsageError for what bench_epoch
/// refuses.
std::vector<ResultRow> measure_recovery(const RecoveryPlan& plan, const ResultsFolder& folder,
                                        Manifest manifest, const std::atomic<bool>& stop,
                                        Console& console);

/// A line for each repetition, and their medians.
std::string recovery_table(const std::vector<ResultRow>& rows);

}  // namespace scalebench
