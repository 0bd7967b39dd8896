// SPDX-License-Identifier: Apache-2.0
// Two launches of one host that are there at the same time and never work at the same time: they
// take turns of an epoch, a part of a case or a round of steps. What the host is like in a second
// is in both, and no start lies between two turns.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string_view>

#include "bench/launch/process.hpp"

namespace scalebench {

/// Where a rank finds who grants it its turns: the name of a socket in the abstract namespace.
inline constexpr const char* kTurnsVariable = "SCALEBENCH_TURNS";

/// What a rank says when it waits, and hears when it is its launch's turn.
inline constexpr char kReady = 'r';
inline constexpr char kGo = 'g';

/// A rank's connection to who grants turns under that name; -1: nobody of this user is there.
int connect_to_turns(std::string_view name);

/// Only processes of the same user are heard. A launch whose ranks never ask (of a program that
/// knows no turns, say) has the host until it has ended.
class Turns {
 public:
  /// `ranks`: of each launch. The first turn is the first launch's.
  explicit Turns(std::array<int, 2> ranks);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// For the environment of a launch, 0 or 1. None where no socket can be had.
  Variables variables(std::size_t launch) const;
  /// Returns once all ranks of the launch wait for their first turn, it has ended, or `stop` is
  /// set. The other launch is to be started then: nobody has a turn before both wait.
  void until_ready(std::size_t launch, const std::atomic<bool>& stop) const;
  void ended(std::size_t launch);
  /// Seconds that the launch has waited for its turns so far.
  double waited(std::size_t launch) const;

 private:
  class Table;
  std::unique_ptr<Table> table_;
};

}  // namespace scalebench
