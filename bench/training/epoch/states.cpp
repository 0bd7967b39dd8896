// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/states.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/training/epoch/event_log.hpp"
#include "collectives/control.hpp"

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

namespace {

std::vector<std::vector<double>> split(const std::vector<double>& all, std::size_t ranks) {
  std::vector<std::vector<double>> by_rank;
  const auto each = static_cast<std::ptrdiff_t>(all.size() / ranks);
  for (auto from = all.begin(); by_rank.size() < ranks; from += each) {
    by_rank.emplace_back(from, from + each);
  }
  return by_rank;
}

/// Every rank's arrivals at its collectives; there may be different numbers of them.
std::vector<std::vector<double>> all_arrivals(Communicator& host, const RankTrace& trace) {
  std::vector<double> mine = arrivals_of(trace);
  const std::vector<double> counts = all_gather(host, static_cast<double>(mine.size()));
  mine.resize(static_cast<std::size_t>(std::ranges::max(counts)));
  auto by_rank = split(all_gather(host, mine), counts.size());
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    by_rank[rank].resize(static_cast<std::size_t>(counts[rank]));
  }
  return by_rank;
}

/// The ranks' steps are the same ones, so any rank that saw them may say who was last in each.
Laggard joint_laggard(Communicator& host, const std::vector<double>& steps_last) {
  const std::vector<double> all = all_gather(host, steps_last);
  for (const auto& seen : split(all, steps_last.size())) {
    if (const Laggard laggard = laggard_of(seen); laggard.rank >= 0) return laggard;
  }
  return {};
}

}  // namespace

EpochMeasurement join_traces(Communicator& host, const RankTrace& mine, const GlobalClock& clock) {
  RankTrace trace = on_clock(mine, [&](double at) { return clock.global_of(at); });
  const auto ranks = static_cast<std::size_t>(host.size());
  std::vector<std::vector<double>> spans =
      split(all_gather(host, std::vector<double>{trace.begin, trace.end}), ranks);
  EpochMeasurement measured;
  const auto first = [&] { return (*std::ranges::min_element(spans))[0]; };
  const auto last = [&] {
    return std::ranges::max(spans, {}, [](const auto& s) { return s[1]; })[1];
  };
  measured.clocks_agree = clock.residual_seconds() <= 0.01 * (last() - first());
  if (!measured.clocks_agree) {
    trace = on_clock(trace, [begin = trace.begin](double at) { return at - begin; });
    for (auto& span : spans) span = {0, span[1] - span[0]};
  }
  const double begin = first(), end = last();
  measured.seconds = end - begin;
  measured.skew_seconds = end - std::ranges::min(spans, {}, [](const auto& s) { return s[1]; })[1];
  const auto slowest = std::ranges::find(spans, end, [](const auto& span) { return span[1]; });
  measured.slowest_rank = static_cast<int>(slowest - spans.begin());

  const auto arrivals = all_arrivals(host, trace);
  const States states = states_of(trace, last_arrivals(arrivals), begin, end);
  measured.laggard = joint_laggard(host, steps_last(trace, arrivals));
  const auto phases = phase_seconds(trace);
  std::vector<double> sums(phases.begin(), phases.end());
  sums.insert(sums.end(), states.seconds.begin(), states.seconds.end());
  sums.push_back(states.hidden);
  const std::vector<double> all = all_gather(host, sums);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const double* const from = &all[rank * sums.size()];
    RankEpoch& one = measured.ranks.emplace_back();
    one.seconds = spans[rank][1] - spans[rank][0];
    std::copy_n(from, phases.size(), one.phase_seconds.begin());
    std::copy_n(from + phases.size(), states.seconds.size(), one.states.seconds.begin());
    one.states.hidden = from[sums.size() - 1];
  }
  return measured;
}

}  // namespace scalebench
