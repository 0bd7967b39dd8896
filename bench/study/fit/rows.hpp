// SPDX-License-Identifier: Apache-2.0
// fits.csv: what a run's own measurements were fitted to, one parameter a row. The cost model of
// each allreduce, over all sizes and numbers of ranks; and for each strategy that was measured on N
// ranks, what the two laws of scaling make of its speedups. A law is fitted in every round and its
// parameters are summarised over rounds, as everything that is published: an interval over rounds
// holds what a machine is like at one time or another.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/fit/fit.hpp"

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

/// Three rows for each case of `allreduces` (of allreduce.csv): alpha, beta, gamma. What an
/// emulated link's burst has touched is not fitted. Then four for each of `scalings`: Amdahl's
/// sigma, and sigma, kappa and peak_ranks of the universal law. What cannot be fitted is a row with
/// status `skipped`, no value and the reason.
std::vector<ResultRow> fit_rows(const std::vector<ResultRow>& allreduces, const FitModel& model,
                                const std::vector<MeasuredScaling>& scalings,
                                std::string_view run_id);

}  // namespace scalebench
