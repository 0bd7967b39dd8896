// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/account.hpp"

#include <algorithm>
#include <cmath>

#include "bench/program/program.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

std::vector<std::vector<double>> split(const std::vector<double>& all, std::size_t ranks) {
  std::vector<std::vector<double>> by_rank;
  const auto each = static_cast<std::ptrdiff_t>(all.size() / ranks);
  for (auto from = all.begin(); by_rank.size() < ranks; from += each) {
    by_rank.emplace_back(from, from + each);
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

/// By how much the clocks of two hosts may disagree. Ranks of one host have one clock.
double joint_residual(Communicator& host, const ClockBridge& clock) {
  const std::vector<int> nodes = host.topology().node_of_rank;
  const std::vector<double> of_ranks = all_gather(host, clock.residual_seconds());
  std::vector<double> residuals(nodes.size());  // by node
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    residuals[static_cast<std::size_t>(nodes[rank])] = of_ranks[rank];
  }
  // Each is against rank 0's; between two others both may be wrong.
  std::ranges::sort(residuals, std::greater());
  return residuals[0] + (residuals.size() > 1 ? residuals[1] : 0);
}

}  // namespace

EpochTimes join_traces(Communicator& host, const RankTrace& mine, const ClockBridge& clock) {
  const auto ranks = static_cast<std::size_t>(host.size());
  EpochTimes times;
  times.ranks.resize(ranks);
  times.clock_residual_seconds = joint_residual(host, clock);
  const RankTrace trace = on_clock(mine, [&](double at) { return clock.global_of(at); });
  std::vector<std::vector<double>> spans =
      split(all_gather(host, std::vector<double>{trace.begin, trace.end}), ranks);
  const auto first = [&] { return (*std::ranges::min_element(spans))[0]; };
  const auto last = [&] {
    return std::ranges::max(spans, {}, [](const auto& s) { return s[1]; })[1];
  };
  if (times.clock_residual_seconds > kMostClockError * (last() - first())) {
    // Each rank's own begin counts as the common one where no clock says better. A monotonic clock
    // is not set as a rule but stands still with its machine: the longest duration is then the true
    // one.
    times.account = Account::refused;
    spans = split(all_gather(host, std::vector<double>{0, mine.end - mine.begin}), ranks);
  }
  const double begin = first(), end = last();
  times.seconds = end - begin;
  times.skew_seconds = end - std::ranges::min(spans, {}, [](const auto& s) { return s[1]; })[1];
  const auto slowest = std::ranges::find(spans, end, [](const auto& span) { return span[1]; });
  times.slowest_rank = static_cast<int>(slowest - spans.begin());

  for (std::size_t rank = 0; rank < ranks; ++rank) {
    times.ranks[rank].seconds = spans[rank][1] - spans[rank][0];
  }
  if (times.account == Account::refused) return times;

  const auto arrivals = gather_lists(host, arrivals_of(trace));
  const std::vector<double> together = last_arrivals(arrivals);
  const States states = states_of(trace, together, begin, end);
  times.attribution_error_seconds =
      times.clock_residual_seconds * static_cast<double>(together.size() + 1);
  if (times.attribution_error_seconds > kMostClockError * times.seconds) {
    times.account = Account::joined;
  }
  times.laggard = joint_laggard(host, steps_last(trace, arrivals));
  const double steps = std::ranges::max(all_gather(host, static_cast<double>(mine.steps.size())));
  const std::vector<double> cuts = cuts_between_steps(together, static_cast<std::size_t>(steps));
  // Without collectives, as between the parts of a model, nothing tells who was late when.
  if (!together.empty()) {
    const std::vector<double> waits = all_gather(host, waits_in_halves(cuts, trace, together, end));
    times.wait_jitter = wait_jitter(cuts, split(waits, ranks));
  }
  std::vector<double> sums(states.seconds.begin(), states.seconds.end());
  sums.push_back(states.hidden);
  const std::vector<double> all = all_gather(host, sums);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const double* const from = &all[rank * sums.size()];
    States& of_rank = times.ranks[rank].states;
    std::copy_n(from, states.seconds.size(), of_rank.seconds.begin());
    of_rank.hidden = from[sums.size() - 1];
  }
  return times;
}

}  // namespace scalebench
