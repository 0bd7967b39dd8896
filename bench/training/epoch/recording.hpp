// SPDX-License-Identifier: Apache-2.0
// Writes down when a rank enters each phase of a step and has done each layer, and divides the step
// by these instants: every interval begins where the one before ends, so that they sum to the step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/measure/clock_sync.hpp"
#include "bench/program/program.hpp"
#include "bench/training/epoch/options.hpp"
#include "models/step/step_trace.hpp"
#include "models/step/traced_step.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

/// Seconds of one step. All but begin and end sum to end - begin.
struct TimedStep {
  double begin = 0;
  double end = 0;
  double load = 0;
  double update = 0;
  double host = 0;  // whatever is in no other
  /// By layer; what follows the last layer (the loss, or what ends the pass) is the last one's.
  std::vector<double> forward;
  std::vector<double> backward;
};

class LayerClock final : public StepTrace, public LayerTrace {
 public:
  /// `clock`: seconds that never go back.
  explicit LayerClock(std::function<double()> clock = local_seconds) : clock_(std::move(clock)) {}

  void begin_step() override { add(Mark::Kind::step, 0); }
  void enter(Phase phase) override { add(Mark::Kind::phase, static_cast<std::size_t>(phase)); }
  void posted_ago(Exchange, double) override {}
  void ended_ago(double) override {}
  void forward_done(std::size_t layer) override { add(Mark::Kind::forward, layer); }
  void gradient_done(std::size_t layer) override { add(Mark::Kind::gradient, layer); }

  void forget() { marks_.clear(); }

  /// The one step since forget(), of a network of so many layers; 0: nothing told of its layers,
  /// and the passes are part of `host`. Throws Error when it has not ended.
  TimedStep step(std::size_t layers) const;

 private:
  struct Mark {
    enum class Kind : std::uint8_t { step, phase, forward, gradient };
    double at;
    Kind kind;
    std::size_t value;
  };
  void add(Mark::Kind kind, std::size_t value) { marks_.push_back({clock_(), kind, value}); }

  std::function<double()> clock_;
  std::vector<Mark> marks_;
};

// Records the steps of a model on one rank, layer by layer, for whoever predicts others:
// steps of their own after all that is measured. Every second step goes without marks between its
// layers, which says what the marks cost.

struct StepRecording {
  StepProfile trace;
  /// Median step with marks over the median without, minus one.
  double cost_of_marks = 0;
};

/// Throws UsageError for what cannot be recorded: several ranks, a step graph, a strategy with a
/// pass of its own, and accumulated passes.
void check_recording(const TrainerOptions& trainer, int ranks);

/// 30 steps with marks, fewer (not below 5) where all takes over 2 seconds. Gradients go over
/// `gradients`, which has the table for the allreduce `auto`.
StepRecording record_steps(const Ranks& ranks, Communicator& gradients,
                           const TrainerOptions& trainer);

/// Throws UsageError unless the trace, if one is asked for, can be written: before a training that
/// would be lost with it.
void require_trace_file(const EpochOptions& options);

/// The same as `options` say, and the trace into its file: one without a folder lies in that of
/// --out, if there is one.
void record_trace(const Ranks& ranks, Communicator& gradients, const EpochOptions& options,
                  Console& console);

}  // namespace scalebench
