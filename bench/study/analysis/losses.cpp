// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace scalebench {
namespace {

/// Seconds of a state in each of these epochs. `rest`: what states so far leave of them.
std::vector<double> seconds_of(const LaunchEpochs& rows, std::string_view state,
                               std::vector<double>& rest) {
  if (state == kStatesOfAccount.back()) return rest;
  std::vector<double> seconds;
  for (const ResultRow* row : rows) {
    const bool joined = state == kJoinedLoss;
    seconds.push_back(joined ? transfer_and_wait(*row)
                             : number_in(*row, fmt::format("{}_seconds", state)));
    rest[seconds.size() - 1] -= seconds.back();
  }
  return seconds;
}

/// The states of an account in order: where one epoch has transfer and waiting as a sum, all have.
std::vector<std::string_view> names_of(bool joined) {
  if (!joined) return {kStatesOfAccount.begin(), kStatesOfAccount.end()};
  return {kStatesOfAccount[0], kJoinedLoss, kStatesOfAccount[4], kStatesOfAccount[5],
          kStatesOfAccount[6]};
}

}  // namespace

std::vector<double> values_of(const LaunchEpochs& epochs, std::string_view column) {
  std::vector<double> values;
  for (const ResultRow* row : epochs) values.push_back(number_in(*row, column));
  return values;
}

bool is_joined(const ResultRow& epoch) {
  return epoch.get("wait_static_seconds").empty() && !epoch.get("transfer_seconds").empty();
}

double transfer_and_wait(const ResultRow& epoch) {
  const double transfer = number_in(epoch, "transfer_seconds");
  if (is_joined(epoch)) return transfer;
  return transfer + number_in(epoch, "wait_static_seconds") +
         number_in(epoch, "wait_jitter_seconds");
}

std::vector<LostTime> losses_of(const LaunchEpochs& n, const LaunchEpochs& one,
                                const LaunchEpochs& share, double part, Sides sides) {
  const auto joined_one = [](const ResultRow* row) { return is_joined(*row); };
  const bool joined = std::ranges::any_of(n, joined_one) || std::ranges::any_of(one, joined_one);
  std::vector<LostTime> losses;
  std::vector<double> rest_of_n = values_of(n, "seconds"), rest_of_one = values_of(one, "seconds");
  for (const std::string_view name : names_of(joined)) {
    const auto at_n = seconds_of(n, name, rest_of_n);
    const auto at_one = seconds_of(one, name, rest_of_one);
    if (losses.empty() && !share.empty()) {
      // The two parts instead of their sum: whoever adds up the rows counts nothing twice.
      const std::vector<double> alone = values_of(share, "compute_seconds");
      losses.push_back({"batch", difference_of_means(alone, at_one, part, sides)});
      losses.push_back({"contention", difference_of_means(at_n, alone, 1, sides)});
    } else {
      losses.push_back({name, difference_of_means(at_n, at_one, part, sides)});
    }
  }
  const auto is_unknown = [](const LostTime& loss) { return std::isnan(loss.seconds.value); };
  return std::ranges::any_of(losses, is_unknown) ? std::vector<LostTime>() : losses;
}

}  // namespace scalebench
