// SPDX-License-Identifier: Apache-2.0
// Rounds: a plan starts every program once a round, so that what a machine is like on a day, or in
// a minute, is in both sides of a ratio. A launch that failed leaves its round out and unpairs no
// other.
#pragma once

#include <concepts>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/means.hpp"
#include "bench/study/analysis/rows.hpp"

namespace scalebench {

/// A case's rows by round: those with status ok.
using RowsByRound = std::map<int, const ResultRow*>;
/// A value by round.
using ByRound = std::map<int, double>;

/// Finds the rows of launches, which must outlive it. Launches that are apart, as an import's
/// files, share no round: each is one of its own.
class Rounds {
 public:
  explicit Rounds(const std::vector<LaunchRows>& launches, Sides sides = Sides::in_rounds);
  /// Of the case, origin, N, number of nodes and rank that `row` has.
  const RowsByRound& of(const ResultRow& row) const;
  Sides sides() const { return sides_; }
  std::size_t count() const { return rounds_.size(); }

 private:
  Sides sides_;
  std::set<int> rounds_;
  std::map<std::string, RowsByRound> by_case_;
};

/// A column of those rows; NaN where it is empty.
std::vector<double> values_of(const std::vector<const ResultRow*>& rows, std::string_view column);

/// A column of those rows; rounds in which it is empty are left out.
ByRound column_of(const RowsByRound& rows, std::string_view column);

/// `function` of the values of each round that all of the others have too.
template <std::invocable<double, double> Function>
ByRound in_rounds(const ByRound& a, const ByRound& b, Function function) {
  ByRound values;
  for (const auto& [round, value] : a) {
    if (const auto found = b.find(round); found != b.end()) {
      values.emplace(round, function(value, found->second));
    }
  }
  return values;
}

}  // namespace scalebench
