// SPDX-License-Identifier: Apache-2.0
// What the ranks' traces of an epoch say together, on one clock, what that is worth where hosts
// have clocks of their own, and how it is told: as columns of epoch.csv, a line on stdout and a
// note. Source: results/README.md, "Where the time went".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/measure/clock_sync.hpp"
#include "bench/record/result_row.hpp"
#include "bench/training/epoch/attribution.hpp"
#include "collectives/communicator.hpp"
#include "models/step/step_trace.hpp"

namespace scalebench {

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
  double wait_jitter = 0;     // seconds of every rank's waiting; the rest is static
  std::vector<States> ranks;  // what each did; sum to the seconds of all ranks together
};

/// The share of an epoch that its clocks may be wrong by.
inline constexpr double kMostClockError = 0.01;

/// Collective, from each rank's own trace of an epoch to what all ranks know of it, but for its
/// samples. Traces stay where they are: only the arrivals at collectives and the number of steps
/// travel, and then sums. `mine`: in seconds of this host's clock.
EpochTimes join_traces(Communicator& host, const RankTrace& mine, const ClockBridge& clock);

/// The epoch in the middle of a run by its time, of an even number the two: their parts sum to the
/// median, as means over all epochs would not.
using MiddleEpochs = std::vector<const EpochTimes*>;

/// The account's columns, mean over all ranks and these epochs, and which rank is last. What is not
/// known in one of the epochs stays empty.
void set_account(ResultRow& row, const MiddleEpochs& middle);

/// Why columns of the account are empty; empty when none is.
std::string account_note(const MiddleEpochs& middle);

/// "       where it went: compute 92.1 % · wait 5.0 % (for rank 1 on host2 in 80 % of steps)
/// ...\n": for whom the others most often waited, where that is more than chance and the ranks have
/// cores of their own: where they share them, the scheduler says who comes last. `hosts`: by rank.
std::string where_it_went(const EpochTimes& epoch, bool on_cpu, bool oversubscribed,
                          const std::vector<std::string>& hosts);

}  // namespace scalebench
