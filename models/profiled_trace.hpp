// SPDX-License-Identifier: Apache-2.0
// A trace that shows steps and phases to a profiler, too, and passes everything on.
#pragma once

#include <array>
#include <optional>

#include "kernels/profiler_range.hpp"
#include "models/step_trace.hpp"

namespace scalebench {

class ProfiledTrace final : public StepTrace {
 public:
  /// `trace` outlives this object.
  explicit ProfiledTrace(StepTrace& trace) : trace_(trace) {}

  void begin_step() override {
    leave();
    step_.emplace("step");
    trace_.begin_step();
  }
  void enter(Phase phase) override {
    static constexpr std::array<const char*, kPhases> kNames{
        "load", "forward", "backward", "synchronise", "optimizer", "evaluate", "other"};
    phase_.reset();
    if (phase == Phase::other) {
      step_.reset();
    } else {
      phase_.emplace(kNames[static_cast<std::size_t>(phase)]);
    }
    trace_.enter(phase);
  }
  void posted(Exchange kind) override { trace_.posted(kind); }
  void ended() override { trace_.ended(); }

 private:
  void leave() {
    phase_.reset();  // the inner one first
    step_.reset();
  }

  StepTrace& trace_;
  std::optional<ProfilerRange> step_;
  std::optional<ProfilerRange> phase_;  // destroyed before the step that it is in
};

}  // namespace scalebench
