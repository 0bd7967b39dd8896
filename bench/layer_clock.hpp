// SPDX-License-Identifier: Apache-2.0
// Writes down when a rank enters each phase of a step and has done each layer, and divides the step
// by these instants: every interval begins where the one before ends, so that they sum to the step.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "bench/measure/clock_sync.hpp"
#include "models/layer_trace.hpp"
#include "models/step_trace.hpp"

namespace scalebench {

/// Seconds of one step. All but begin and end sum to end - begin.
struct StepTimes {
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
  void posted(Exchange) override {}
  void ended() override {}
  void forward_done(std::size_t layer) override { add(Mark::Kind::forward, layer); }
  void gradient_done(std::size_t layer) override { add(Mark::Kind::gradient, layer); }

  void forget() { marks_.clear(); }

  /// The one step since forget(), of a network of so many layers; 0: nothing told of its layers,
  /// and the passes are part of `host`. Throws Error when it has not ended.
  StepTimes step(std::size_t layers) const;

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

}  // namespace scalebench
