// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/statistics.hpp"

#include <algorithm>
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

/// Zero-based low rank by the exact binomial: the largest j with P(fewer than j+1 below) <= 2.5 %.
std::size_t exact_low_rank(std::size_t n) {
  double probability = std::pow(0.5, static_cast<double>(n));
  double below = 0;
  std::size_t rank = 0;
  for (std::size_t k = 0; k < n / 2; ++k) {
    below += probability;
    if (below > 0.025) break;
    rank = k;
    probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  return rank;
}

/// Half the width of the interval relative to the median; NaN when there is no interval.
double relative_half_width(const Summary& summary) {
  return (summary.ci_high - summary.ci_low) / 2 / summary.median;
}

}  // namespace

double median_of(std::span<const double> samples) {
  if (samples.empty()) return kUnknown;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  return quantile(sorted, 0.5);
}

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
    summary.min = summary.p5 = summary.p95 = summary.max = summary.mean = kUnknown;
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
  summary.p5 = quantile(sorted, 0.05);
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
  constexpr double kCovered = 0.95;
  const std::size_t n = sorted.size();
  const auto size = static_cast<double>(n);
  // What the values from the d-th to the d-th last enclose, d from 1.
  // Still to be halved n times, which is less than a double can hold where there are many.
  double probability = 1, tail = 1;
  int halvings = static_cast<int>(n);
  double covered = 1 - 2 * std::ldexp(tail, -halvings);
  std::size_t d = 1;
  while (true) {
    const auto place = static_cast<double>(d);
    probability *= (size - place + 1) / place;
    const double narrower = 1 - 2 * std::ldexp(tail + probability, -halvings);
    if (narrower < kCovered) {
      const double share = (covered - kCovered) / (covered - narrower);
      const double inward = (size - place) * share / (place + (size - 2 * place) * share);
      return {std::lerp(sorted[d - 1], sorted[d], inward),
              std::lerp(sorted[n - d], sorted[n - d - 1], inward)};
    }
    tail += probability;
    covered = narrower;
    ++d;
    constexpr int kTooMany = 512;
    if (tail > std::ldexp(1.0, kTooMany)) {
      probability = std::ldexp(probability, -kTooMany);
      tail = std::ldexp(tail, -kTooMany);
      halvings -= kTooMany;
    }
  }
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

namespace {

constexpr std::size_t kExactUpTo = 30;
constexpr double kTail = 0.025;

/// P(U = u) for u = 0..n*m, U the number of pairs in which the first sample's value is the larger.
std::vector<double> exact_distribution(std::size_t n, std::size_t m) {
  // below[j]: of i values against j. The largest of all is of the first sample with i / (i + j).
  std::vector<std::vector<double>> below(m + 1, {1.0});
  for (std::size_t i = 1; i <= n; ++i) {
    std::vector<std::vector<double>> now{{1.0}};
    for (std::size_t j = 1; j <= m; ++j) {
      const double first = static_cast<double>(i) / static_cast<double>(i + j);
      std::vector<double> p(i * j + 1);
      for (std::size_t u = 0; u < below[j].size(); ++u) p[u + j] += first * below[j][u];
      for (std::size_t u = 0; u < now[j - 1].size(); ++u) p[u] += (1 - first) * now[j - 1][u];
      now.push_back(std::move(p));
    }
    below = std::move(now);
  }
  return below[m];
}

/// P(U <= u), by the side with fewer terms.
double at_most(const std::vector<double>& distribution, std::size_t u) {
  double sum = 0;
  for (std::size_t i = 0; i <= std::min(u, distribution.size() - 1); ++i) sum += distribution[i];
  return sum;
}

double variance_without_ties(double n, double m) { return n * m * (n + m + 1) / 12; }

/// Sum over groups of equal values of t^3 - t.
double tie_sum(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::ranges::sort(all);
  double sum = 0;
  for (auto begin = all.begin(); begin != all.end();) {
    const auto end = std::upper_bound(begin, all.end(), *begin);
    const auto equal = static_cast<double>(end - begin);
    sum += equal * equal * equal - equal;
    begin = end;
  }
  return sum;
}

/// How many of the pairwise ratios, from either end, lie outside the interval; 0: there is none.
std::size_t outside(std::size_t n, std::size_t m) {
  if (n <= kExactUpTo && m <= kExactUpTo) {
    const std::vector<double> distribution = exact_distribution(n, m);
    std::size_t k = 0;
    for (double sum = 0; k < distribution.size(); ++k) {
      sum += distribution[k];
      if (sum > kTail) break;
    }
    return k;
  }
  const auto x = static_cast<double>(n);
  const auto y = static_cast<double>(m);
  const double k = x * y / 2 - 1.96 * std::sqrt(variance_without_ties(x, y));
  return k > 0 ? static_cast<std::size_t>(k) : 0;
}

}  // namespace

double rank_sum_p_value(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return kUnknown;
  double u = 0;  // pairs in which a is the larger; ties are half a pair
  for (const double x : a) {
    for (const double y : b) u += x > y ? 1.0 : x == y ? 0.5 : 0.0;
  }
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  const double ties = tie_sum(a, b);
  if (ties == 0 && a.size() <= kExactUpTo && b.size() <= kExactUpTo) {
    const std::vector<double> distribution = exact_distribution(a.size(), b.size());
    const double nearer = std::min(u, n * m - u);
    return std::min(1.0, 2 * at_most(distribution, static_cast<std::size_t>(nearer)));
  }
  const double variance = variance_without_ties(n, m) - n * m * ties / (12 * (n + m) * (n + m - 1));
  if (!(variance > 0)) return 1;  // all values are equal
  const double distance = std::max(std::abs(u - n * m / 2) - 0.5, 0.0);
  // No sample of these sizes has a smaller one; the normal's tail does not know.
  return std::max(two_sided_normal(distance / std::sqrt(variance)),
                  smallest_p_value(a.size(), b.size()));
}

RatioInterval ratio_of(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return {kUnknown, kUnknown, kUnknown};
  const double ratio = median_of(b) / median_of(a);
  const std::size_t k = outside(a.size(), b.size());
  if (k == 0) return {ratio, kUnknown, kUnknown};
  std::vector<double> ratios;
  for (const double x : a) {
    for (const double y : b) ratios.push_back(y / x);
  }
  std::ranges::sort(ratios);
  return {ratio, std::min(ratio, ratios[k - 1]), std::max(ratio, ratios[ratios.size() - k])};
}

double smallest_p_value(std::size_t n, std::size_t m) {
  double p = 2;  // 2 / (n + m over n)
  for (std::size_t i = 1; i <= n; ++i) p *= static_cast<double>(i) / static_cast<double>(m + i);
  return std::min(p, 1.0);
}

namespace {

using boost::math::policies::domain_error;
using boost::math::policies::ignore_error;
using boost::math::policies::overflow_error;
using boost::math::policies::promote_double;
/// Unknown comes out as NaN rather than as an exception.
using Quietly = boost::math::policies::policy<domain_error<ignore_error>,
                                              overflow_error<ignore_error>, promote_double<false>>;
using StudentT = boost::math::students_t_distribution<double, Quietly>;

}  // namespace

double two_sided_normal(double z) { return std::erfc(std::abs(z) / std::sqrt(2.0)); }

double student_t_tail(double t, double df) { return cdf(complement(StudentT(df), t)); }

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
