// SPDX-License-Identifier: Apache-2.0
// When a training began, ended its first step, wrote a checkpoint, was hit by a fault, and when
// that was noticed: a line each, as it happens, in a CSV file that all ranks append to. By each
// host's monotonic clock, which is the same for all processes of a host.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/program/fault.hpp"
#include "bench/program/program.hpp"
#include "bench/record/csv.hpp"

namespace scalebench {

/// Columns of the file: seconds, host, rank, event, step, note.
const std::vector<std::string>& milestone_columns();

class Milestones {
 public:
  /// Collective. An empty `path`: nothing is written. Throws Error when it cannot be.
  Milestones(const Ranks& ranks, const std::string& path);

  /// By any thread. `step`: steps that the training had done.
  void note(std::string_view event, std::int64_t step, std::string_view text = "");

 private:
  const Ranks& ranks_;
  std::optional<CsvWriter> file_;
};

// Follows a training step by step for whoever asked for milestones or for a fault at a step.

class StepWatch {
 public:
  /// Collective.
  StepWatch(const Ranks& ranks, const StepFault& fault, const std::string& milestones);

  /// The training goes from step `first` to `last`, exclusive. Throws UsageError, on all ranks, for
  /// a fault that would never come.
  void begin(std::int64_t first, std::int64_t last);
  /// On every rank that makes steps.
  void begin_step();
  /// After the last step of an epoch, or of the training.
  void end_step();
  /// Rank 0 has written a checkpoint.
  void checkpointed();
  /// What the watchdog says, on its thread.
  void say(const std::string& line);

 private:
  bool is_hit() const { return ranks_.session.rank() == fault_.rank && first_ == 0; }

  const Ranks& ranks_;
  const StepFault fault_;
  Milestones milestones_;
  std::int64_t first_ = 0;
  std::atomic<std::int64_t> steps_ = 0;  // done
  bool inside_ = false;
};

}  // namespace scalebench
