// SPDX-License-Identifier: Apache-2.0
// Timing one collective operation: first call apart, warm-up until steady, then repetitions that
// all ranks start together and stop together. A repetition's time is the last end minus the first
// start.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "bench/measure/stop_rule.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

struct Repetition {
  double seconds = 0;       // max(end) - min(start) over ranks
  double skew_seconds = 0;  // max(end) - min(end)
  int slowest_rank = 0;     // the rank that ended last
};

struct WarmUpRule {
  int fixed = -1;  // exactly this many operations; -1: until steady
  int at_least = 10;
  double at_least_seconds = 0.2;
  int at_most = 200;
  double at_most_seconds = 2;
};

enum class StartMode {
  clock,    // all ranks wait for one instant that rank 0 named
  barrier,  // a barrier before each repetition; the time is the longest local duration
};
std::string_view name_of(StartMode mode);

struct Timing {
  double first_call_seconds = 0;  // slowest rank
  bool warm = true;               // false: the warm-up's cap was hit before the times were steady
  bool converged = false;
  StartMode start = StartMode::clock;
  std::size_t redone = 0;  // repetitions voided because a rank started late, and measured again
  std::vector<Repetition> repetitions;
};

/// Collective. `operation` runs once per call and returns when this rank is done with it; `prepare`
/// runs before each call outside the timed region (rotate buffers, say). `host` carries stamps and
/// decisions and must not be in use by `operation` at the same time.
Timing time_collective(Communicator& host, const std::function<void()>& prepare,
                       const std::function<void()>& operation, const WarmUpRule& warm_up,
                       const StopRule& stop, StartMode start);

}  // namespace scalebench
