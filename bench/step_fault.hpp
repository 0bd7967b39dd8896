// SPDX-License-Identifier: Apache-2.0
// A rank that is killed or stopped on purpose at the begin of a step, to see how it is noticed and
// what going on costs. Steps count from 0 over the whole training. Only a training from its
// beginning is hit: one that resumes has had its fault.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/cli/app.hpp"

namespace scalebench {

enum class StepFaultKind : std::uint8_t { kill, stop };

struct StepFault {
  StepFaultKind kind = StepFaultKind::kill;
  int rank = -1;  // none
  std::int64_t step = 0;

  /// "killed" or "stopped".
  std::string_view participle() const { return kind == StepFaultKind::kill ? "killed" : "stopped"; }
};

struct StepFaultWords {
  std::string kill_rank, stop_rank;  // RANK@STEP; empty: none
};

/// Adds --kill-rank and --stop-rank.
void add_step_fault_options(CLI::App& app, StepFaultWords& words);

/// Throws UsageError for what is no fault on `ranks` ranks, and for two of them.
StepFault step_fault_of(const StepFaultWords& words, int ranks);

/// Ends this process by SIGKILL, or stops it by SIGSTOP until somebody else ends it.
void inject(StepFaultKind kind);

}  // namespace scalebench
