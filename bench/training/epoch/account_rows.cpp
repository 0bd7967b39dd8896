// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/account_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace scalebench {
namespace {

/// Mean over the ranks of an epoch.
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

/// The one of which least is known.
const EpochMeasurement& worst_of(const MiddleEpochs& middle) {
  return **std::ranges::max_element(middle, {}, &EpochMeasurement::account);
}

}  // namespace

MiddleEpochs middle_of(const EpochRun& run) {
  std::vector<const EpochMeasurement*> epochs;
  for (const EpochMeasurement& epoch : run.epochs) epochs.push_back(&epoch);
  std::ranges::stable_sort(epochs, {}, &EpochMeasurement::seconds);
  const std::size_t low = (epochs.size() - 1) / 2, high = epochs.size() / 2;
  return low == high ? MiddleEpochs{epochs[low]} : MiddleEpochs{epochs[low], epochs[high]};
}

void set_account(ResultRow& row, const MiddleEpochs& middle) {
  const Account account = worst_of(middle).account;
  if (account == Account::refused) return;
  States mean;
  double jitter = 0;
  const auto n = static_cast<double>(middle.size());
  for (const EpochMeasurement* const epoch : middle) {
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
  const EpochMeasurement& worst = worst_of(middle);
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

std::string where_it_went(const EpochMeasurement& epoch, bool on_cpu, bool oversubscribed,
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
