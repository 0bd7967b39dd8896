// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/rounds.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "bench/record/columns.hpp"

namespace scalebench {
namespace {

std::string case_and_rank(const ResultRow& row) {
  return fmt::format("{}/{}/{}/{}/{}", row.get("case_id"), row.get("origin"), text_in(row, "ranks"),
                     text_in(row, "nodes"), text_in(row, "rank"));
}

}  // namespace

Rounds::Rounds(const std::vector<LaunchRows>& launches, Sides sides) : sides_(sides) {
  for (const LaunchRows& launch : launches) {
    const int round = sides == Sides::apart ? launch.launch : launch.round;
    rounds_.insert(round);
    for (const ResultRow& row : launch.cases) {
      const bool counts = row.get("status") == "ok" && seconds_in(row) > 0;
      if (counts) by_case_[case_and_rank(row)].emplace(round, &row);
    }
  }
}

const RowsByRound& Rounds::of(const ResultRow& row) const {
  static const RowsByRound kNone;
  const auto found = by_case_.find(case_and_rank(row));
  return found == by_case_.end() ? kNone : found->second;
}

std::vector<double> values_of(const std::vector<const ResultRow*>& rows, std::string_view column) {
  std::vector<double> values;
  for (const ResultRow* row : rows) values.push_back(number_in(*row, column));
  return values;
}

ByRound column_of(const RowsByRound& rows, std::string_view column) {
  ByRound values;
  for (const auto& [round, row] : rows) {
    if (const double value = number_in(*row, column); !std::isnan(value)) {
      values.emplace(round, value);
    }
  }
  return values;
}

}  // namespace scalebench
