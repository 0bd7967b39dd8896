// SPDX-License-Identifier: Apache-2.0
// What a fault costs a training: from the milestones that bench_epoch left in the start that was
// hit, and in the one that went on from the last checkpoint.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/launch/launcher.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/results_folder.hpp"

namespace scalebench {

/// A line of bench_epoch's --milestones.
struct Milestone {
  double seconds = 0;  // of its host's monotonic clock
  std::string host;
  int rank = 0;
  std::string event;
  std::int64_t step = 0;
  std::string note;
};

/// Nothing when there is no file. Throws UsageError for a damaged one.
std::vector<Milestone> read_milestones(const std::filesystem::path& path);

/// One start of the launcher, by this host's monotonic clock.
struct TrainingStart {
  double begin_seconds = 0, end_seconds = 0;
  std::vector<Milestone> milestones;
  std::string host{};  // that the launcher runs on
};

/// What the manifest's `recovery` says of two starts, as results/README.md has it. What is not
/// known is null: it did not happen, or on a host with another clock. `event`: "killed" or
/// "stopped". `samples_per_step`: of all ranks. Throws Error when the fault is not among `hit`'s
/// milestones.
nlohmann::json recovery_of(std::string_view event, const TrainingStart& hit,
                           const TrainingStart& resumed, double samples_per_step);

/// The manifest's `recovery` for people, a line each.
std::string recovery_text(const nlohmann::json& recovery);

// One training twice: with a rank that is killed or stopped, and on from the last checkpoint.

struct RecoveryPlan {
  std::string fault;     // "kill" or "stop"
  std::string fault_at;  // RANK@STEP
  int ranks = 2;
  int nodes = 1, per_node = 2;  // whose product they are
  int epochs = 3;
  int checkpoint_every = 1;            // epochs
  std::vector<std::string> arguments;  // of bench_epoch: what is trained
  LaunchSettings settings;
  double deadline_seconds = 3600;  // of one start

  std::string injection() const { return fault + ":" + fault_at; }
  std::string participle() const { return fault == "kill" ? "killed" : "stopped"; }
};

/// A start of bench_epoch, with what is trained and `more` as its arguments.
PlannedLaunch launch_of(const RecoveryPlan& plan, int number, const std::string& name,
                        const std::vector<std::string>& more);

/// Measures it and returns the manifest that it wrote: with `recovery`, and sealed, unless `stop`
/// became true. Throws UsageError for what bench_epoch refuses.
Manifest measure_recovery(const RecoveryPlan& plan, const ResultsFolder& folder, Manifest manifest,
                          const std::atomic<bool>& stop, Console& console);

}  // namespace scalebench
