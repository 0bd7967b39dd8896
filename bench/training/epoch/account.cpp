// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/account.hpp"

#include <fmt/format.h>

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

/// Mean over the ranks of an epoch.
States mean_states(const EpochTimes& epoch) {
  States mean;
  const auto n = static_cast<double>(epoch.ranks.size());
  for (const States& states : epoch.ranks) {
    for (std::size_t i = 0; i < kStateNames.size(); ++i) {
      mean.seconds[i] += states.seconds[i] / n;
    }
    mean.hidden += states.hidden / n;
  }
  return mean;
}

/// The one of which least is known.
const EpochTimes& worst_of(const MiddleEpochs& middle) {
  return **std::ranges::max_element(middle, {}, &EpochTimes::account);
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
    States& of_rank = times.ranks[rank];
    std::copy_n(from, states.seconds.size(), of_rank.seconds.begin());
    of_rank.hidden = from[sums.size() - 1];
  }
  return times;
}

void set_account(ResultRow& row, const MiddleEpochs& middle) {
  const Account account = worst_of(middle).account;
  if (account == Account::refused) return;
  States mean;
  double jitter = 0;
  const auto n = static_cast<double>(middle.size());
  for (const EpochTimes* const epoch : middle) {
    const States states = mean_states(*epoch);
    for (std::size_t i = 0; i < kStateNames.size(); ++i) mean.seconds[i] += states.seconds[i] / n;
    jitter += epoch->wait_jitter / n;
  }
  for (const State state : {State::compute, State::transfer, State::input, State::evaluation}) {
    const auto name = kStateNames.at(static_cast<std::size_t>(state));
    row.set(fmt::format("{}_seconds", name), mean[state]);
  }
  if (account == Account::joined) {
    row.set("transfer_seconds", mean[State::transfer] + mean[State::wait]);
    return;
  }
  row.set("wait_static_seconds", mean[State::wait] - jitter).set("wait_jitter_seconds", jitter);
  if (const Laggard& laggard = middle.front()->laggard; laggard.rank >= 0) {
    row.set("last_rank", laggard.rank);
  }
}

std::string account_note(const MiddleEpochs& middle) {
  const EpochTimes& worst = worst_of(middle);
  if (worst.account == Account::refused) {
    return fmt::format(
        "not known where the time went: in an epoch the hosts' clocks agree within {:.6f} s only, "
        "as where one was suspended; its seconds may be wrong by as much",
        worst.clock_residual_seconds);
  }
  if (worst.account == Account::joined) {
    return fmt::format(
        "transfer and waiting are known together only: the hosts' clocks agree within {:.6f} s, "
        "which over all collectives may move {:.6f} s between the two",
        worst.clock_residual_seconds, worst.attribution_error_seconds);
  }
  return "";
}

std::string where_it_went(const EpochTimes& epoch, bool on_cpu, bool oversubscribed,
                          const std::vector<std::string>& hosts) {
  std::string text = "       where it went:";
  if (epoch.account == Account::refused) return text + " not known, the hosts' clocks disagree\n";
  const States states = mean_states(epoch);
  const bool accuses = !oversubscribed && epoch.laggard.stands_out(epoch.ranks.size());
  bool first = true;
  const auto add = [&](std::string_view name, double seconds) {
    const double share = seconds / epoch.seconds;
    // What rounds to nothing says nothing.
    if (std::abs(share) < 0.0005) return false;
    text += fmt::format("{}{} {:.1f} %", first ? " " : " · ", name, 100 * share);
    first = false;
    return true;
  };
  for (std::size_t i = 0; i < kStateNames.size(); ++i) {
    const auto state = static_cast<State>(i);
    if (epoch.account == Account::joined && state == State::transfer) {
      add("transfer and wait", states[State::transfer] + states[State::wait]);
      continue;
    }
    if (epoch.account == Account::joined && state == State::wait) continue;
    if (add(kStateNames[i], states[state]) && state == State::wait && accuses) {
      text += fmt::format(" (for rank {} on {} in {:.0f} % of steps)", epoch.laggard.rank,
                          hosts.at(static_cast<std::size_t>(epoch.laggard.rank)),
                          100 * epoch.laggard.share);
    }
  }
  if (states.hidden > 0.0005 * epoch.seconds) {
    text += fmt::format(" · {} {:.1f} %",
                        on_cpu ? "moving meanwhile, on the same cores" : "hidden under compute",
                        100 * states.hidden / epoch.seconds);
  }
  return text + "\n";
}

}  // namespace scalebench
