// SPDX-License-Identifier: Apache-2.0
// Books every instant of training on exactly one phase, so that the phases of a span sum to it.
#pragma once

#include <array>
#include <numeric>

#include "bench/measure/clock_sync.hpp"
#include "models/step_trace.hpp"

namespace scalebench {

class PhaseClock final : public StepTrace {
 public:
  void begin_step() override {}
  void posted(Exchange) override {}
  void ended() override {}
  void enter(Phase phase) override {
    const double now = local_seconds();
    seconds_[index(phase_)] += now - since_;
    since_ = now;
    phase_ = phase;
  }

  /// Forgets what was booked and begins a span, in phase `other`.
  void restart() {
    seconds_.fill(0);
    phase_ = Phase::other;
    since_ = local_seconds();
  }

  /// Seconds booked on a phase up to the last enter().
  double seconds(Phase phase) const { return seconds_[index(phase)]; }
  double total() const { return std::accumulate(seconds_.begin(), seconds_.end(), 0.0); }

 private:
  static std::size_t index(Phase phase) { return static_cast<std::size_t>(phase); }

  std::array<double, kPhases> seconds_{};
  Phase phase_ = Phase::other;
  double since_ = local_seconds();
};

}  // namespace scalebench
