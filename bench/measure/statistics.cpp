// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

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
  const double reach = 0.98 / std::sqrt(n_effective);
  const double size = static_cast<double>(n);
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
  summary.n_effective = n * (1 - r) / (1 + r);
  summary.median = quantile(sorted, 0.5);
  summary.min = sorted.front();
  summary.p5 = quantile(sorted, 0.05);
  summary.p95 = quantile(sorted, 0.95);
  summary.max = sorted.back();
  summary.ci_low = summary.ci_high = kUnknown;
  if (sorted.size() >= 6) {
    const MedianRanks ranks = median_ranks(sorted.size(), summary.n_effective);
    summary.ci_low = sorted[ranks.low];
    summary.ci_high = sorted[ranks.high];
  }
  summary.outliers = static_cast<std::size_t>(std::ranges::count_if(
      sorted, [&](double value) { return value < q1 - fence || value > q3 + fence; }));
  return summary;
}

double relative_half_width(const Summary& summary) {
  return (summary.ci_high - summary.ci_low) / 2 / summary.median;
}

LaunchInterval across_launches(std::span<const double> launch_medians) {
  const Summary summary = summarise(launch_medians);
  if (summary.n < 2) return {summary.median, kUnknown, kUnknown, ""};
  if (summary.n < 6) return {summary.median, summary.min, summary.max, "range"};
  // Launches are shuffled and separate processes: they are taken as independent.
  std::vector<double> sorted(launch_medians.begin(), launch_medians.end());
  std::ranges::sort(sorted);
  const MedianRanks ranks = median_ranks(sorted.size(), static_cast<double>(sorted.size()));
  return {summary.median, sorted[ranks.low], sorted[ranks.high], "95%"};
}

}  // namespace scalebench
