// SPDX-License-Identifier: Apache-2.0
// What a fault costs a training: from the milestones that bench_epoch left in the start that was
// hit, in the one that went on, and in one that nothing disturbed.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/launch/launcher.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"
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

/// Fills in the columns of recovery.csv that follow from three starts. What is not known stays
/// empty: it did not happen, or on a host with another clock. `event`: "killed" or "stopped".
/// `samples_per_step`: of all ranks. Throws Error when the fault is not among `hit`'s milestones.
void set_recovery(ResultRow& row, std::string_view event, const TrainingStart& hit,
                  const TrainingStart& resumed, const TrainingStart& undisturbed,
                  double samples_per_step);

/// Whether two checkpoints hold the same parameters and optimizer memory, bit for bit; their
/// headers hold measured seconds. Throws UsageError for a file that is no checkpoint.
bool same_tensors(const std::filesystem::path& a, const std::filesystem::path& b);

// One training three times: undisturbed, with a rank that is killed or stopped, and on from the
// last checkpoint. As a run of its own, with recovery.csv.

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

  std::string injection() const { return fault + ":" + fault_at; }
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

/// A checkpoint promises the training that was never disturbed: whether both ended in the same
/// bits, in a row that has the rest and the status ok. Else it is `wrong`, but with a strategy
/// whose sums depend on time: then the note says so.
void set_same_bits(ResultRow& row, bool same);

/// A line for each repetition, and their medians.
std::string recovery_table(const std::vector<ResultRow>& rows);

}  // namespace scalebench
