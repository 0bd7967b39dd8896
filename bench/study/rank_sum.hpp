// SPDX-License-Identifier: Apache-2.0
// Two samples without a distribution assumed: Wilcoxon's rank-sum test, and the interval of the
// ratio that belongs to it (order statistics of all pairwise ratios; Mann and Whitney, Moses).
// Exact up to 30 values a side without ties; beyond, normal with correction for ties and
// continuity. Source: Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, chapter 4.
#pragma once

#include <span>

namespace scalebench {

/// Two-sided p-value of "both come from one distribution"; NaN when either is empty.
double rank_sum_p_value(std::span<const double> a, std::span<const double> b);

struct RatioInterval {
  double ratio = 0;  // median of b over median of a
  double low = 0;    // 95 % or more; NaN for both where so few values have no such interval
  double high = 0;
};
/// How much larger b is; all values are positive. NaN throughout when either is empty. The interval
/// is widened to hold the ratio of medians where that lies outside, as two-humped samples can make
/// it.
RatioInterval ratio_of(std::span<const double> a, std::span<const double> b);

/// The smallest p-value that `n` values against `m` can have: when all of one side lie above.
double smallest_p_value(std::size_t n, std::size_t m);

}  // namespace scalebench
