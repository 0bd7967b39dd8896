// SPDX-License-Identifier: Apache-2.0
// laws.csv: for each strategy that was measured on N ranks, what the two laws make of its speedups.
// A law is fitted in every round and its parameters are summarised over rounds, as everything that
// is published: an interval over rounds holds what a machine is like at one time or another.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// Fewer different N, one rank included, are not fitted: two parameters would be read off three.
inline constexpr std::size_t kFewestNForLaws = 4;

/// One strategy with one amount of work, all of one origin.
struct MeasuredScaling {
  ResultRow like;                                   // of epoch.csv
  bool weak = false;                                // Amdahl's law is of strong scaling
  std::map<int, std::map<int, double>> speedups{};  // by round, by N above 1
  std::string ambiguous{};                          // why it is no curve over N; else empty
};

/// Four rows each: Amdahl's sigma, then sigma, kappa and peak_ranks of the universal law. What
/// cannot be fitted is a row with status `skipped`, no value and the reason.
std::vector<ResultRow> law_rows(const std::vector<MeasuredScaling>& scalings);

}  // namespace scalebench
