// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "bench/study/analysis/rounds.hpp"

namespace scalebench {
namespace {

/// What is left of the epoch beside the other states, so that all sum to it.
std::vector<double> host_seconds(const LaunchEpochs& rows, const std::vector<std::string>& others) {
  std::vector<double> host = values_of(rows, "seconds_median");
  for (const std::string& column : others) {
    const std::vector<double> state = values_of(rows, column);
    for (std::size_t i = 0; i < host.size(); ++i) host[i] -= state[i];
  }
  return host;
}

bool is_joined(const ResultRow* row) { return row->get("transfer_seconds").empty(); }

/// The states of an account in order: where one epoch has transfer and waiting as a sum, all have.
std::vector<std::string_view> names_of(bool joined) {
  if (!joined) return {kStatesOfAccount.begin(), kStatesOfAccount.end()};
  return {kStatesOfAccount[0], kJoinedLoss, kStatesOfAccount[4], kStatesOfAccount[5],
          kStatesOfAccount[6]};
}

}  // namespace

std::vector<LostTime> losses_of(const LaunchEpochs& n, const LaunchEpochs& one,
                                const LaunchEpochs& share, double part, Sides sides) {
  const bool joined = std::ranges::any_of(n, is_joined) || std::ranges::any_of(one, is_joined);
  std::vector<LostTime> losses;
  std::vector<std::string> columns;
  for (const std::string_view name : names_of(joined)) {
    const std::string column = fmt::format("{}_seconds", name);
    const bool is_host = name == kStatesOfAccount.back();
    const auto at_n = is_host ? host_seconds(n, columns) : values_of(n, column);
    const auto at_one = is_host ? host_seconds(one, columns) : values_of(one, column);
    if (columns.empty() && !share.empty()) {
      // The two parts instead of their sum: whoever adds up the rows counts nothing twice.
      const std::vector<double> alone = values_of(share, column);
      losses.push_back({"batch", difference_of_means(alone, at_one, part, sides)});
      losses.push_back({"contention", difference_of_means(at_n, alone, 1, sides)});
    } else {
      losses.push_back({name, difference_of_means(at_n, at_one, part, sides)});
    }
    columns.push_back(column);
  }
  const auto is_unknown = [](const LostTime& loss) { return std::isnan(loss.seconds.value); };
  return std::ranges::any_of(losses, is_unknown) ? std::vector<LostTime>() : losses;
}

}  // namespace scalebench
