// SPDX-License-Identifier: Apache-2.0
// Records the steps of a model on one rank, layer by layer, for whoever replays or predicts them:
// steps of their own after all that is measured. Every second step goes without marks between its
// layers, which says what the marks cost.
#pragma once

#include <string>

#include "bench/cli/console.hpp"
#include "bench/epoch_options.hpp"
#include "bench/program.hpp"
#include "models/replay_trace.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

struct StepRecording {
  ReplayTrace trace;
  /// Median step with marks over the median without, minus one.
  double cost_of_marks = 0;
};

/// Throws UsageError for what cannot be recorded: several ranks, a step graph, a strategy with a
/// pass of its own, accumulated passes, and a model that is replayed itself.
void check_recording(const TrainerOptions& trainer, int ranks);

/// `steps` with marks; 0: 30, fewer (not below 5) where all takes over 2 seconds.
StepRecording record_steps(const Ranks& ranks, const TrainerOptions& trainer, int steps);

/// The same as `options` say, and the trace into its file: one without a folder lies in that of
/// --out, if there is one.
void record_trace(const Ranks& ranks, const EpochOptions& options, Console& console);

}  // namespace scalebench
