// SPDX-License-Identifier: Apache-2.0
// What a rank is doing at each instant of training, told to whoever holds a clock.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <thread>

#include "kernels/device.hpp"

namespace scalebench {

enum class Phase : std::uint8_t { load, forward, backward, sync, update, evaluate, other };
inline constexpr int kPhases = 7;

/// What a communication waits for, and so how the time that it exposes is divided.
enum class Exchange : std::uint8_t {
  collective,  // all workers take part, in the same order: it moves once the last has come
  transfer,    // with a peer that is always ready: all of it is transfer
  wait,        // for the result of a peer's work (a pipeline's next stage): all of it is waiting
};

/// Called by the trainer and its gradient synchronisation.
class StepTrace {
 public:
  virtual ~StepTrace() = default;

  /// On the rank's own thread: a step begins. Its first phase follows.
  virtual void begin_step() = 0;

  /// On the rank's own thread: a phase lasts until the next call; `other` is entered after every
  /// step, epoch and evaluation, so that nothing outside is booked on a phase.
  virtual void enter(Phase phase) = 0;

  /// This rank was ready for its next exchange so many seconds ago, which a device may know; one
  /// thread at a time calls it.
  virtual void posted_ago(Exchange kind, double seconds) = 0;
  void posted(Exchange kind) { posted_ago(kind, 0); }

  /// The oldest exchange that has not ended has done so, so many seconds ago; one thread at a time
  /// calls it, which may be another than the one that posts. Both pair up in order.
  virtual void ended_ago(double seconds) = 0;
  void ended() { ended_ago(0); }
};

/// For whoever wants no trace.
class NoTrace final : public StepTrace {
 public:
  void begin_step() override {}
  void enter(Phase) override {}
  void posted_ago(Exchange, double) override {}
  void ended_ago(double) override {}
};

// Which layer of a network a pass has done, told to whoever holds a clock.

/// Called by the thread of the pass, with the layer's place in the order of the forward pass.
class LayerTrace {
 public:
  virtual ~LayerTrace() = default;
  /// Layers in their order; the loss, which follows the last, has no call of its own.
  virtual void forward_done(std::size_t layer) = 0;
  /// One gradient of this layer is complete; as many calls a pass as it has parameters.
  virtual void gradient_done(std::size_t layer) = 0;
};

// A trace that passes everything on, shows steps and phases to a profiler, and in which each
// communication may end later, and really does: whoever says that it has ended sleeps before.

class ProfiledTrace final : public StepTrace {
 public:
  /// `delay_seconds`: of each communication; not positive: none. `trace` outlives this object.
  ProfiledTrace(StepTrace& trace, double delay_seconds) : trace_(trace), delay_(delay_seconds) {}

  void begin_step() override {
    phase_.reset();  // the inner one first
    step_.reset();
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
  void posted_ago(Exchange kind, double seconds) override { trace_.posted_ago(kind, seconds); }
  void ended_ago(double seconds) override {
    if (delay_.count() > 0) {
      std::this_thread::sleep_for(delay_);
      seconds = 0;
    }
    trace_.ended_ago(seconds);
  }

 private:
  StepTrace& trace_;
  const std::chrono::duration<double> delay_;
  std::optional<ProfilerRange> step_;
  std::optional<ProfilerRange> phase_;  // destroyed before the step that it is in
};

// What a gradient goes through until its mean is there, told to whoever holds a clock; as the
// timeline of Horovod.

/// Called from any thread. Lanes are numbered from 0; each is in one activity at a time.
class Timeline {
 public:
  virtual ~Timeline() = default;
  virtual void begin(std::size_t lane, std::string_view activity) = 0;
  virtual void end(std::size_t lane) = 0;
};

}  // namespace scalebench
