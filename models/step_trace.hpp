// SPDX-License-Identifier: Apache-2.0
// What a rank is doing at each instant of training, told to whoever holds a clock.
#pragma once

#include <cstdint>

namespace scalebench {

enum class Phase : std::uint8_t { load, forward, backward, sync, update, evaluate, other };
inline constexpr int kPhases = 7;

/// Called by the trainer on the rank's own thread. A phase lasts until the next call; `other` is
/// entered after every step, epoch and evaluation, so that nothing outside is booked on a phase.
class PhaseListener {
 public:
  virtual ~PhaseListener() = default;
  virtual void enter(Phase phase) = 0;
};

}  // namespace scalebench
