// SPDX-License-Identifier: Apache-2.0
// A trace in which each communication ends later, and really does: whoever says that it has ended
// sleeps before.
#pragma once

#include <chrono>
#include <thread>

#include "models/step_trace.hpp"

namespace scalebench {

class DelayedTrace final : public StepTrace {
 public:
  /// `seconds`: of each communication; not positive: none. `trace` must outlive this.
  DelayedTrace(StepTrace& trace, double seconds) : trace_(trace), delay_(seconds) {}

  void begin_step() override { trace_.begin_step(); }
  void enter(Phase phase) override { trace_.enter(phase); }
  void posted(Exchange kind) override { trace_.posted(kind); }
  void ended() override {
    if (delay_.count() > 0) std::this_thread::sleep_for(delay_);
    trace_.ended();
  }

 private:
  StepTrace& trace_;
  const std::chrono::duration<double> delay_;
};

}  // namespace scalebench
