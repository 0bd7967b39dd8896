// SPDX-License-Identifier: Apache-2.0
// What a set of repetitions says: median with a distribution-free interval, extremes, outliers.
// Intervals come from order statistics (Le Boudec), with fewer effective samples where successive
// ones are correlated. Unknown is NaN: one sample has no interval.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace scalebench {

struct Summary {
  std::size_t n = 0;
  double n_effective = 0;  // as many independent ones would tell as much of the median
  double median = 0;
  double ci_low = 0;  // 95 % interval of the median; NaN below 6 effective samples
  double ci_high = 0;
  double min = 0;
  double p95 = 0;
  double p99 = 0;  // NaN below 100 samples, of which it would say no more than max
  double max = 0;
  double mean = 0;
  std::size_t outliers = 0;  // beyond 1.5 interquartile ranges (Tukey); never removed
};

/// Statistics of `samples` in measured order. All fields but n and outliers are NaN when empty.
Summary summarise(std::span<const double> samples);

/// On the line between the two nearest order statistics. NaN when empty.
double quantile_of(std::span<const double> samples, double fraction);
double median_of(std::span<const double> samples);

/// So many independent samples before an interval is believed to be as narrow as it looks: whoever
/// stops when it is narrow stops when it is narrow by chance.
inline constexpr double kFewestToConverge = 75;

/// Whether the interval's half-width is up to `target` of the median, of enough samples.
bool is_narrow(const Summary& summary, double target);

/// Zero-based positions in sorted order whose values enclose the median with at least 95 %.
struct MedianRanks {
  std::size_t low = 0;
  std::size_t high = 0;
};
/// Requires n >= 6. For n_effective < n the positions are those of the smaller sample, stretched.
MedianRanks median_ranks(std::size_t n, double n_effective);

/// What launches or rounds say together, with its interval, and how that was made.
struct LaunchInterval {
  double value = 0;
  double low = 0;
  double high = 0;
  std::string_view kind;  // "95%" from 6 launches on, "range" below, "" with one
};
/// The median of launch medians (or of ratios in rounds); its interval is interpolated between
/// order statistics, so that it covers 95 % also where those alone would cover 99 %.
LaunchInterval across_launches(std::span<const double> launch_medians);

/// The t of Student's distribution with `df` > 0 degrees of freedom that is exceeded with
/// probability `p`, 0 < p < 1.
double student_t_quantile(double p, double df);

// Least squares with coefficients that cannot be negative, for the few unknowns of a cost model.
// Exact: the minimum is the unconstrained solution on some subset of the columns, so all subsets
// are tried. Cost: 2^columns solutions by Gram-Schmidt.

using Columns = std::vector<std::vector<double>>;

/// The x >= 0 that minimises |sum of x[i] * columns[i] - target|. Columns have the target's length;
/// there are at most 8. A column that the others already explain gets 0.
std::vector<double> nonnegative_least_squares(const Columns& columns,
                                              std::span<const double> target);

/// Whether one column is a multiple of the other, to one part in a million; also when one is zero.
bool collinear(std::span<const double> a, std::span<const double> b);

}  // namespace scalebench
