// SPDX-License-Identifier: Apache-2.0
// Follows a training step by step for whoever asked for milestones or for a fault at a step.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "bench/milestones.hpp"
#include "bench/step_fault.hpp"

namespace scalebench {

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
