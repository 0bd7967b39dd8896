// SPDX-License-Identifier: Apache-2.0
// What the ranks' traces of an epoch say together, on one clock, and what that is worth where
// hosts have clocks of their own.
// Source: results/README.md, "Where the time went".
#pragma once

#include <cstdint>
#include <vector>

#include "bench/measure/clock_sync.hpp"
#include "bench/training/epoch/attribution.hpp"
#include "collectives/communicator.hpp"
#include "models/step/step_trace.hpp"

namespace scalebench {

/// What one rank did in one epoch.
struct RankEpoch {
  double seconds = 0;  // of its own
  States states;       // sum to the seconds of all ranks together
};

enum class Account : std::uint8_t {
  parted,   // every state is known
  joined,   // of transfer and waiting only the sum is: the clocks' error may move too much
  refused,  // nothing is: the clocks disagree too much, as where one stood still meanwhile
};

/// How long an epoch took and where that went; equal on every rank.
struct EpochTimes {
  double seconds = 0;  // last end - first start; where the account is refused: longest duration
  double skew_seconds = 0;
  int slowest_rank = 0;
  Account account = Account::parted;
  /// By how much the clocks of two hosts may disagree, between the epoch's begin and end; 0 on one.
  double clock_residual_seconds = 0;
  /// What that may move between transfer and waiting at most: once in each collective, and at the
  /// end of the epoch.
  double attribution_error_seconds = 0;
  Laggard laggard;
  double wait_jitter = 0;  // seconds of every rank's waiting; the rest is static
  std::vector<RankEpoch> ranks;
};

/// The share of an epoch that its clocks may be wrong by.
inline constexpr double kMostClockError = 0.01;

/// Collective, from each rank's own trace of an epoch to what all ranks know of it, but for its
/// samples. Traces stay where they are: only the arrivals at collectives and the number of steps
/// travel, and then sums. `mine`: in seconds of this host's clock.
EpochTimes join_traces(Communicator& host, const RankTrace& mine, const ClockBridge& clock);

}  // namespace scalebench
