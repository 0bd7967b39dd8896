// SPDX-License-Identifier: Apache-2.0
// Two launches of one host that are there at the same time and never work at the same time: they
// take turns of an epoch, a part of a case or a round of steps. What the host is like in a second
// is in both, and no start lies between two turns.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

#include "bench/launch/process.hpp"
#include "bench/machine/descriptor.hpp"

namespace scalebench {

/// Three files for a launch's ranks, with spaces between them. A rank that waits for its turn reads
/// a byte of the first; at its end, nobody takes turns any more. Rank 0 ends a turn with a byte a
/// rank into the second. Into the third it writes one when all wait for the first time.
inline constexpr const char* kTurnsVariable = "SCALEBENCH_TURNS";

/// A launch whose ranks do not do so (of a program that knows no turns, say) has the host until it
/// has ended.
class Turns {
 public:
  /// `ranks`: of each of the launches. The files are this process's own.
  explicit Turns(int ranks);

  /// For the environment of a launch, 0 or 1.
  Variables variables(std::size_t launch) const;
  /// Returns once all ranks of another launch wait for their first turn, one has ended, or `stop`
  /// is set. The other launch is to be started then: nobody has a turn before both wait.
  void until_ready(const std::atomic<bool>& stop);
  /// The first turn is the first launch's.
  void begin();
  /// The other launch is alone from now on.
  void ended(std::size_t launch);

 private:
  int ranks_;
  std::array<Pipe, 2> turns_;
  Pipe ready_;
  std::mutex closing_;
};

}  // namespace scalebench
