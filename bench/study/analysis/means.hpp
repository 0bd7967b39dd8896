// SPDX-License-Identifier: Apache-2.0
// The estimator of what a training costs. Costs add up, so they are means, and a ratio of costs is
// one of means, never a mean or median of ratios (Hoefler and Belli, SC 2015, rules 3 and 4). From
// six values on an interval is one of 95 %; of two to five it is the range; NaN without.
#pragma once

#include <span>

#include "bench/measure/statistics.hpp"

namespace scalebench {

/// Whether the values of two sides belong together by their places, as those of one round do.
enum class Sides { in_rounds, apart };

/// Their mean, with Student's interval. NaN of none, or where one is NaN.
LaunchInterval mean_of(std::span<const double> values);

/// mean(a) / mean(b). In rounds with the interval ln R +- t s / sqrt(n), s the deviation of
/// a_i / mean(a) - b_i / mean(b), or the range of the rounds' ratios; apart with Welch's of
/// ln(mean(a) / mean(b)) where each side has two. All are positive.
LaunchInterval ratio_of_means(std::span<const double> a, std::span<const double> b, Sides sides);

/// mean(a) - factor mean(b), with the same kinds of intervals.
LaunchInterval difference_of_means(std::span<const double> a, std::span<const double> b,
                                   double factor, Sides sides);

}  // namespace scalebench
