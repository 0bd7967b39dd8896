// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/means.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kFewestForInterval = 6;
constexpr double kTail = 0.025;

double mean(std::span<const double> values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return values.empty() ? kUnknown : sum / static_cast<double>(values.size());
}

/// The variance of the mean of these values; NaN of a single one.
double variance_of_mean(std::span<const double> values) {
  const double middle = mean(values), n = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return squares / (n - 1) / n;
}

/// Half of Student's interval around the mean of these values.
double half_width(std::span<const double> values) {
  const double df = static_cast<double>(values.size()) - 1;
  return student_t_quantile(kTail, df) * std::sqrt(variance_of_mean(values));
}

LaunchInterval range(double value, const std::vector<double>& of) {
  if (of.size() < 2) return {value, kUnknown, kUnknown, ""};
  const auto [low, high] = std::ranges::minmax(of);
  return {value, low, high, "range"};
}

/// Half of Welch's interval of a sum of two independent means with these variances.
double half_width_apart(double variance_a, std::size_t n_a, double variance_b, std::size_t n_b) {
  const double variance = variance_a + variance_b;
  if (variance == 0) return 0;
  const double df = variance * variance /
                    (variance_a * variance_a / static_cast<double>(n_a - 1) +
                     variance_b * variance_b / static_cast<double>(n_b - 1));
  return student_t_quantile(kTail, df) * std::sqrt(variance);
}

}  // namespace

LaunchInterval mean_of(std::span<const double> values) {
  const double value = mean(values);
  if (std::isnan(value)) return {kUnknown, kUnknown, kUnknown, ""};
  if (values.size() < kFewestForInterval) return range(value, {values.begin(), values.end()});
  const double half = half_width(values);
  return {value, value - half, value + half, "95%"};
}

LaunchInterval ratio_of_means(std::span<const double> a, std::span<const double> b, Sides sides) {
  const double mean_a = mean(a), mean_b = mean(b), ratio = mean_a / mean_b;
  if (std::isnan(ratio)) return {kUnknown, kUnknown, kUnknown, ""};
  double half = kUnknown;
  if (sides == Sides::apart) {
    if (std::min(a.size(), b.size()) < 2) return {ratio, kUnknown, kUnknown, ""};
    half = half_width_apart(variance_of_mean(a) / (mean_a * mean_a), a.size(),
                            variance_of_mean(b) / (mean_b * mean_b), b.size());
  } else {
    const bool is_few = a.size() < kFewestForInterval;
    std::vector<double> rounds;
    for (std::size_t i = 0; i < a.size(); ++i) {
      rounds.push_back(is_few ? a[i] / b[i] : a[i] / mean_a - b[i] / mean_b);
    }
    if (is_few) return range(ratio, rounds);
    half = half_width(rounds);
  }
  return {ratio, ratio * std::exp(-half), ratio * std::exp(half), "95%"};
}

LaunchInterval difference_of_means(std::span<const double> a, std::span<const double> b,
                                   double factor, Sides sides) {
  if (sides == Sides::in_rounds) {
    std::vector<double> rounds;
    for (std::size_t i = 0; i < a.size(); ++i) rounds.push_back(a[i] - factor * b[i]);
    return mean_of(rounds);
  }
  const double value = mean(a) - factor * mean(b);
  if (std::isnan(value) || std::min(a.size(), b.size()) < 2) return {value, kUnknown, kUnknown, ""};
  const double half = half_width_apart(variance_of_mean(a), a.size(),
                                       factor * factor * variance_of_mean(b), b.size());
  return {value, value - half, value + half, "95%"};
}

}  // namespace scalebench
