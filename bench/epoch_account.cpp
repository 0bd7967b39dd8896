// SPDX-License-Identifier: Apache-2.0
#include "bench/epoch_account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace scalebench {
namespace {

double jitter_of(const EpochMeasurement& epoch) {
  std::vector<States> ranks;
  for (const RankEpoch& rank : epoch.ranks) ranks.push_back(rank.states);
  return wait_jitter(ranks);
}

/// Mean over the ranks.
States mean_states(const EpochMeasurement& epoch) {
  States mean;
  const auto n = static_cast<double>(epoch.ranks.size());
  for (const RankEpoch& rank : epoch.ranks) {
    for (std::size_t i = 0; i < kStateNames.size(); ++i) {
      mean.seconds[i] += rank.states.seconds[i] / n;
    }
    mean.hidden += rank.states.hidden / n;
  }
  return mean;
}

}  // namespace

const EpochMeasurement& middle_of(const EpochRun& run) {
  std::vector<const EpochMeasurement*> epochs;
  for (const EpochMeasurement& epoch : run.epochs) epochs.push_back(&epoch);
  std::ranges::stable_sort(epochs, {}, &EpochMeasurement::seconds);
  return *epochs[(epochs.size() - 1) / 2];
}

void set_states(ResultRow& row, const States& of_rank, const EpochMeasurement& epoch) {
  const double jitter = jitter_of(epoch);
  for (std::size_t i = 0; i < kStateNames.size(); ++i) {
    row.set(fmt::format("{}_seconds", kStateNames[i]), of_rank.seconds[i]);
  }
  row.set("wait_static_seconds", of_rank[State::wait] - jitter);
  row.set("wait_jitter_seconds", jitter).set("hidden_seconds", of_rank.hidden);
}

void set_states(ResultRow& row, const EpochMeasurement& epoch) {
  set_states(row, mean_states(epoch), epoch);
  if (epoch.laggard.rank < 0) return;
  row.set("last_rank", epoch.laggard.rank).set("last_rank_share", epoch.laggard.share);
}

std::string where_it_went(const EpochMeasurement& epoch) {
  const States states = mean_states(epoch);
  std::string text = "       where it went:";
  bool first = true;
  for (std::size_t i = 0; i < kStateNames.size(); ++i) {
    const double share = states.seconds[i] / epoch.seconds;
    // What rounds to nothing says nothing.
    if (std::abs(share) < 0.0005) continue;
    text += fmt::format("{}{} {:.1f} %", first ? " " : " · ", kStateNames[i], 100 * share);
    first = false;
    if (static_cast<State>(i) == State::wait && epoch.laggard.rank >= 0) {
      text += fmt::format(" (rank {} last in {:.0f} % of steps)", epoch.laggard.rank,
                          100 * epoch.laggard.share);
    }
  }
  if (states.hidden > 0.0005 * epoch.seconds) {
    text += fmt::format(" · hidden under compute {:.1f} %", 100 * states.hidden / epoch.seconds);
  }
  return text + "\n";
}

}  // namespace scalebench
