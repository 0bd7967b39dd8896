// SPDX-License-Identifier: Apache-2.0
// What a rank is doing at each instant of training, told to whoever holds a clock.
#pragma once

#include <cstdint>

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

  /// This rank is ready for its next exchange; one thread at a time calls it.
  virtual void posted(Exchange kind) = 0;

  /// The oldest exchange that has not ended has done so; one thread at a time calls it, which may
  /// be another than the one that posts. Both pair up in order.
  virtual void ended() = 0;
};

/// For whoever wants no trace.
class NoTrace final : public StepTrace {
 public:
  void begin_step() override {}
  void enter(Phase) override {}
  void posted(Exchange) override {}
  void ended() override {}
};

}  // namespace scalebench
