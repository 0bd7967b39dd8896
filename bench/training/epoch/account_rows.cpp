// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/account_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Mean over these ranks of an epoch.
States mean_states(const EpochMeasurement& epoch, std::size_t first, std::size_t last) {
  States mean;
  const auto n = static_cast<double>(last - first);
  for (std::size_t rank = first; rank < last; ++rank) {
    const States& states = epoch.ranks[rank].states;
    for (std::size_t i = 0; i < kStateNames.size(); ++i) mean.seconds[i] += states.seconds[i] / n;
    mean.hidden += states.hidden / n;
  }
  return mean;
}

/// Whether what moves during computation costs it nothing: on a core that computes too it lengthens
/// the computation.
bool hides(const ResultRow& row) { return !row.get("device").starts_with("cpu"); }

/// The one of which least is known.
const EpochMeasurement& worst_of(const MiddleEpochs& middle) {
  return **std::ranges::max_element(middle, {}, &EpochMeasurement::account);
}

/// The largest in magnitude, with its sign.
double largest_drift(const EpochMeasurement& epoch) {
  return std::ranges::max(epoch.ranks, {},
                          [](const RankEpoch& rank) { return std::abs(rank.clock_drift); })
      .clock_drift;
}

}  // namespace

MiddleEpochs middle_of(const EpochRun& run) {
  std::vector<const EpochMeasurement*> epochs;
  for (const EpochMeasurement& epoch : run.epochs) epochs.push_back(&epoch);
  std::ranges::stable_sort(epochs, {}, &EpochMeasurement::seconds);
  const std::size_t low = (epochs.size() - 1) / 2, high = epochs.size() / 2;
  return low == high ? MiddleEpochs{epochs[low]} : MiddleEpochs{epochs[low], epochs[high]};
}

void set_account(ResultRow& row, const MiddleEpochs& middle, std::optional<std::size_t> rank) {
  const Account account = worst_of(middle).account;
  if (account == Account::refused) return;
  States mean;
  double jitter = 0, residual = 0, error = 0, drift = 0;
  const auto n = static_cast<double>(middle.size());
  for (const EpochMeasurement* const epoch : middle) {
    const States states =
        rank ? epoch->ranks[*rank].states : mean_states(*epoch, 0, epoch->ranks.size());
    for (std::size_t i = 0; i < kStateNames.size(); ++i) mean.seconds[i] += states.seconds[i] / n;
    mean.hidden += states.hidden / n;
    jitter += epoch->wait_jitter / n;
    residual += epoch->clock_residual_seconds / n;
    error += epoch->attribution_error_seconds / n;
    drift += (rank ? epoch->ranks[*rank].clock_drift : largest_drift(*epoch)) / n;
  }
  for (std::size_t i = 0; i < kStateNames.size(); ++i) {
    row.set(fmt::format("{}_seconds", kStateNames[i]), mean.seconds[i]);
  }
  row.set("wait_static_seconds", mean[State::wait] - jitter);
  row.set("wait_jitter_seconds", jitter);
  row.set("transfer_and_wait_seconds", mean[State::transfer] + mean[State::wait]);
  row.set(hides(row) ? "hidden_seconds" : "concurrent_seconds", mean.hidden);
  row.set("clock_residual_seconds", residual).set("attribution_error_seconds", error);
  row.set("clock_drift_ppm", 1e6 * drift);
  if (account == Account::joined) {
    for (const char* const column :
         {"transfer_seconds", "wait_seconds", "wait_static_seconds", "wait_jitter_seconds"}) {
      row.set(column, kUnknown);
    }
    return;
  }
  const Laggard& laggard = middle.front()->laggard;
  if (rank || laggard.rank < 0) return;
  row.set("last_rank", laggard.rank).set("last_rank_share", laggard.share);
}

std::string account_note(const MiddleEpochs& middle) {
  const EpochMeasurement& worst = worst_of(middle);
  if (worst.account == Account::refused) {
    return fmt::format(
        "not known where the time went: in an epoch the clock of rank {}'s host and that of rank "
        "0's moved {:.6f} s apart at once, set or suspended; its seconds may be wrong by as much",
        worst.clock_jump_rank, worst.clock_jump_seconds);
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
  if (epoch.account == Account::refused) return text + " not known, a host's clock jumped\n";
  const States states = mean_states(epoch, 0, epoch.ranks.size());
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
