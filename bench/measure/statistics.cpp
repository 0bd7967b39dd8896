// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kFewestForInterval = 6;  // below, 95 % cannot be had even of independent samples
constexpr std::size_t kSamplesForP99 = 100;

/// Linear interpolation between the two nearest order statistics; `sorted` is not empty.
double quantile(std::span<const double> sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - static_cast<double>(below);
  return sorted[below] + weight * (sorted[above] - sorted[below]);
}

/// Lag-1 autocorrelation of the samples drawn in to [low, high], since a single spike would hide
/// the drift of all others. Clipped to [0, 0.99]: negative correlation earns no narrower interval.
double autocorrelation(std::span<const double> samples, double low, double high) {
  double mean = 0;
  for (const double sample : samples) mean += std::clamp(sample, low, high);
  mean /= static_cast<double>(samples.size());
  double products = 0;
  double squares = 0;
  double before = 0;
  for (const double sample : samples) {
    const double here = std::clamp(sample, low, high) - mean;
    squares += here * here;
    products += here * before;
    before = here;
  }
  return squares > 0 ? std::clamp(products / squares, 0.0, 0.99) : 0.0;
}

/// How many successive samples tell as much as one independent one would, for the median: the
/// integrated autocorrelation of "above or below it". Summed by Geyer's initial monotone sequence
/// (Statist. Sci. 7 (1992) 473-483), and two of its standard errors more (Madras and Sokal, J.
/// Stat. Phys. 50 (1988) 109-186), since a few slow swings are seen too rarely to be summed right.
/// Finds what lag 1 hides: slow swings under a noise that is new in each sample.
double stretch_of_sides(std::span<const double> samples, double median) {
  const std::size_t n = samples.size();
  std::vector<double> sides(n);
  std::ranges::transform(samples, sides.begin(), [&](double sample) {
    return static_cast<double>(sample > median) - static_cast<double>(sample < median);
  });
  const double mean =
      std::accumulate(sides.begin(), sides.end(), 0.0) / static_cast<double>(sides.size());
  for (double& side : sides) side -= mean;
  const auto products = [&](std::size_t lag) {
    return std::inner_product(sides.begin() + static_cast<std::ptrdiff_t>(lag), sides.end(),
                              sides.begin(), 0.0);
  };
  const double squares = products(0);
  if (!(squares > 0)) return 1;
  double sum = -1, before = std::numeric_limits<double>::infinity();
  std::size_t lag = 0;
  for (; lag + 1 < n; lag += 2) {
    const double pair = std::min((products(lag) + products(lag + 1)) / squares, before);
    if (pair <= 0) break;
    sum += 2 * pair;
    before = pair;
  }
  const double window = static_cast<double>(lag);
  const double error = sum * std::sqrt(2 * (2 * window + 1) / static_cast<double>(n));
  return std::max(1.0, sum + 2 * error);
}

using boost::math::policies::domain_error;
using boost::math::policies::ignore_error;
using boost::math::policies::overflow_error;
using boost::math::policies::promote_double;
/// Unknown comes out as NaN rather than as an exception.
using Quietly = boost::math::policies::policy<domain_error<ignore_error>,
                                              overflow_error<ignore_error>, promote_double<false>>;
using StudentT = boost::math::students_t_distribution<double, Quietly>;
using Binomial = boost::math::binomial_distribution<double, Quietly>;

constexpr double kBeyond = 0.025;  // each end of an interval of 95 %

/// How many of n independent values lie below their median.
Binomial below_median(std::size_t n) { return {static_cast<double>(n), 0.5}; }

/// The largest zero-based rank that the median lies below at most 2.5 % of the times.
std::size_t exact_low_rank(std::size_t n) {
  return static_cast<std::size_t>(quantile(below_median(n), kBeyond));
}

/// Half the width of the interval relative to the median; NaN when there is no interval.
double relative_half_width(const Summary& summary) {
  return (summary.ci_high - summary.ci_low) / 2 / summary.median;
}

}  // namespace

double quantile_of(std::span<const double> samples, double fraction) {
  if (samples.empty()) return kUnknown;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  return quantile(sorted, fraction);
}

double median_of(std::span<const double> samples) { return quantile_of(samples, 0.5); }

MedianRanks median_ranks(std::size_t n, double n_effective) {
  constexpr std::size_t kExactUpTo = 100;
  if (n <= kExactUpTo && n_effective >= static_cast<double>(n)) {
    const std::size_t low = exact_low_rank(n);
    return {low, n - 1 - low};
  }
  const double size = static_cast<double>(n);
  // How many independent ones there are was itself estimated: Student's quantile, not the normal.
  const double width =
      n_effective < size ? student_t_quantile(0.025, std::max(n_effective - 1, 1.0)) : 1.96;
  const double reach = width / 2 / std::sqrt(n_effective);
  const double low = std::floor(size * (0.5 - reach));
  const double high = std::ceil(1 + size * (0.5 + reach));
  return {static_cast<std::size_t>(std::max(low, 1.0)) - 1,
          static_cast<std::size_t>(std::min(high, size)) - 1};
}

Summary summarise(std::span<const double> samples) {
  Summary summary;
  summary.n = samples.size();
  if (samples.empty()) {
    summary.n_effective = summary.median = summary.ci_low = summary.ci_high = kUnknown;
    summary.min = summary.p95 = summary.max = summary.mean = kUnknown;
    summary.p99 = kUnknown;
    return summary;
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const auto n = static_cast<double>(sorted.size());
  summary.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / n;
  const double q1 = quantile(sorted, 0.25);
  const double q3 = quantile(sorted, 0.75);
  const double fence = 1.5 * (q3 - q1);
  const double r = autocorrelation(samples, q1 - fence, q3 + fence);
  summary.median = quantile(sorted, 0.5);
  summary.n_effective = n / std::max((1 + r) / (1 - r), stretch_of_sides(samples, summary.median));
  summary.min = sorted.front();
  summary.p95 = quantile(sorted, 0.95);
  summary.p99 = sorted.size() >= kSamplesForP99 ? quantile(sorted, 0.99) : kUnknown;
  summary.max = sorted.back();
  summary.ci_low = summary.ci_high = kUnknown;
  if (summary.n_effective >= kFewestForInterval) {
    const MedianRanks ranks = median_ranks(sorted.size(), summary.n_effective);
    summary.ci_low = sorted[ranks.low];
    summary.ci_high = sorted[ranks.high];
  }
  summary.outliers = static_cast<std::size_t>(std::ranges::count_if(
      sorted, [&](double value) { return value < q1 - fence || value > q3 + fence; }));
  return summary;
}

bool is_narrow(const Summary& summary, double target) {
  return summary.n_effective >= kFewestToConverge && relative_half_width(summary) <= target;
}

namespace {

/// 95 % of the median of few independent values, between the order statistics that enclose it with
/// more and with less than that: those alone would cover 97 to 99 %. Hettmansperger and Sheather,
/// Statist. Probab. Lett. 4 (1986) 75-79. At least six values, sorted.
std::pair<double, double> interval_of_few(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size(), low = exact_low_rank(n), high = n - 1 - low;
  const double beyond = cdf(below_median(n), static_cast<double>(low));
  const double beyond_narrower = cdf(below_median(n), static_cast<double>(low + 1));
  const double share = (kBeyond - beyond) / (beyond_narrower - beyond);
  const auto size = static_cast<double>(n), place = static_cast<double>(low + 1);
  const double inward = (size - place) * share / (place + (size - 2 * place) * share);
  return {std::lerp(sorted[low], sorted[low + 1], inward),
          std::lerp(sorted[high], sorted[high - 1], inward)};
}

}  // namespace

LaunchInterval across_launches(std::span<const double> launch_medians) {
  const double median = median_of(launch_medians);
  if (launch_medians.size() < 2) return {median, kUnknown, kUnknown, ""};
  std::vector<double> sorted(launch_medians.begin(), launch_medians.end());
  std::ranges::sort(sorted);
  if (sorted.size() < 6) return {median, sorted.front(), sorted.back(), "range"};
  // Launches are shuffled and separate processes: they are taken as independent.
  const auto [low, high] = interval_of_few(sorted);
  return {median, low, high, "95%"};
}

double student_t_quantile(double p, double df) { return quantile(complement(StudentT(df), p)); }

namespace {

/// What of a column may be left beside the others before it counts as explained by them.
constexpr double kDependent = 1e-6;

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void subtract(std::vector<double>& from, double factor, std::span<const double> what) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= factor * what[i];
}

/// Unconstrained least squares; nothing when a column depends on those before it.
std::optional<std::vector<double>> least_squares(const Columns& columns,
                                                 std::span<const double> target) {
  const std::size_t n = columns.size();
  Columns basis;
  Columns upper(n, std::vector<double>(n));
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<double> rest = columns[j];
    const double length = std::sqrt(dot(rest, rest));
    // Twice: the second pass takes out what rounding left of the first.
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t i = 0; i < j; ++i) {
        const double share = dot(basis[i], rest);
        upper[i][j] += share;
        subtract(rest, share, basis[i]);
      }
    }
    upper[j][j] = std::sqrt(dot(rest, rest));
    if (!(upper[j][j] > kDependent * length)) return std::nullopt;
    for (double& value : rest) value /= upper[j][j];
    basis.push_back(std::move(rest));
  }
  std::vector<double> x(n);
  for (std::size_t i = n; i-- > 0;) {
    x[i] = dot(basis[i], target);
    for (std::size_t j = i + 1; j < n; ++j) x[i] -= upper[i][j] * x[j];
    x[i] /= upper[i][i];
  }
  return x;
}

double squared_residual(const Columns& columns, const std::vector<double>& x,
                        std::span<const double> target) {
  std::vector<double> rest(target.begin(), target.end());
  for (std::size_t i = 0; i < columns.size(); ++i) subtract(rest, x[i], columns[i]);
  return dot(rest, rest);
}

}  // namespace

std::vector<double> nonnegative_least_squares(const Columns& columns,
                                              std::span<const double> target) {
  if (columns.size() > 8) fail("least squares with {} unknowns: at most 8", columns.size());
  std::vector<double> best(columns.size());
  double least = dot(target, target);
  for (unsigned subset = 1; subset < 1U << columns.size(); ++subset) {
    Columns chosen;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if ((subset >> i & 1U) != 0) chosen.push_back(columns[i]);
    }
    const auto x = least_squares(chosen, target);
    if (!x || std::ranges::any_of(*x, [](double value) { return value < 0; })) continue;
    const double residual = squared_residual(chosen, *x, target);
    if (!(residual < least)) continue;
    least = residual;
    std::size_t next = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      best[i] = (subset >> i & 1U) != 0 ? (*x)[next++] : 0.0;
    }
  }
  return best;
}

bool collinear(std::span<const double> a, std::span<const double> b) {
  const double aa = dot(a, a);
  if (!(aa > 0) || !(dot(b, b) > 0)) return true;
  std::vector<double> rest(b.begin(), b.end());
  subtract(rest, dot(a, b) / aa, a);
  return dot(rest, rest) <= kDependent * kDependent * dot(b, b);
}

}  // namespace scalebench
