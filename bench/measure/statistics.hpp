// SPDX-License-Identifier: Apache-2.0
// What a set of repetitions says: median with a distribution-free interval, extremes, outliers.
// Intervals come from order statistics (Le Boudec), with fewer effective samples where successive
// ones are correlated. Unknown is NaN: one sample has no interval.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace scalebench {

struct Summary {
  std::size_t n = 0;
  double n_effective = 0;  // n(1-r)/(1+r), r = lag-1 autocorrelation, outliers drawn in
  double median = 0;
  double ci_low = 0;  // 95 % interval of the median; NaN below 6 samples
  double ci_high = 0;
  double min = 0;
  double p5 = 0;
  double p95 = 0;
  double max = 0;
  double mean = 0;
  std::size_t outliers = 0;  // beyond 1.5 interquartile ranges (Tukey); never removed
};

/// Statistics of `samples` in measured order. All fields but n and outliers are NaN when empty.
Summary summarise(std::span<const double> samples);

/// Median; mean of the middle two for an even count. NaN when empty.
double median_of(std::span<const double> samples);

/// Half the width of the interval relative to the median; NaN when there is no interval.
double relative_half_width(const Summary& summary);

/// Zero-based positions in sorted order whose values enclose the median with at least 95 %.
struct MedianRanks {
  std::size_t low = 0;
  std::size_t high = 0;
};
/// Requires n >= 6. For n_effective < n the positions are those of the smaller sample, stretched.
MedianRanks median_ranks(std::size_t n, double n_effective);

/// The median of launch medians with its interval, and how that was made.
struct LaunchInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  std::string_view kind;  // "95%" from 6 launches on, "range" below, "" with one
};
LaunchInterval across_launches(std::span<const double> launch_medians);

}  // namespace scalebench
