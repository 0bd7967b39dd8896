// SPDX-License-Identifier: Apache-2.0
// Two samples whose values belong together, as those of one round: Wilcoxon's signed-rank test on
// the logarithms of their ratios, and the interval that belongs to it (order statistics of all
// means of two; Walsh, Tukey). What both sides of a pair share cancels. Exact up to 50 pairs
// without ties; beyond, normal with correction for ties and continuity. Source: Hollander, Wolfe,
// Chicken, Nonparametric Statistical Methods, chapter 3.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/measure/statistics.hpp"

namespace scalebench {

/// The means of all pairs of values, each value with itself too, in order. Their median is Hodges'
/// and Lehmann's estimate of a location: nearly as good as the mean, and not moved by a few wild
/// values.
std::vector<double> pairwise_means(std::span<const double> values);

/// Two-sided p-value of "the ratios b[i] / a[i] are symmetric about 1"; all values are positive,
/// and there are as many of b as of a. NaN without any.
double signed_rank_p_value(std::span<const double> a, std::span<const double> b);

/// Median of b[i] / a[i], with the interval of that test: 95 % or more, NaN below 6 pairs. It is
/// widened to hold the median where that lies outside.
RatioInterval paired_ratio_of(std::span<const double> a, std::span<const double> b);

/// The smallest p-value that `n` pairs can have: when all differ in the same direction.
double smallest_signed_rank_p_value(std::size_t n);

}  // namespace scalebench
