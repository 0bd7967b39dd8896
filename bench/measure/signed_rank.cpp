// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/signed_rank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace scalebench {
namespace {

constexpr double kNoPairs = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kExactPairs = 50;
constexpr double kTailShare = 0.025;

std::vector<double> log_ratios(std::span<const double> a, std::span<const double> b) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < a.size(); ++i) logs.push_back(std::log(b[i] / a[i]));
  return logs;
}

/// P(W = w) for w = 0..n(n+1)/2, W the sum of the ranks of the positive ones.
std::vector<double> exact_distribution(std::size_t n) {
  std::vector<double> p{1};
  for (std::size_t rank = 1; rank <= n; ++rank) {
    std::vector<double> next(p.size() + rank);
    for (std::size_t w = 0; w < p.size(); ++w) {
      next[w] += p[w] / 2;
      next[w + rank] += p[w] / 2;
    }
    p = std::move(next);
  }
  return p;
}

struct Ranked {
  double positive = 0;  // sum of the ranks of the positive ones; a zero counts half
  double squares = 0;   // sum of squares of the ranks that have a sign
  bool ties = false;
};

Ranked ranked(std::vector<double> values) {
  std::ranges::sort(values, {}, [](double value) { return std::abs(value); });
  Ranked sums;
  for (std::size_t begin = 0; begin < values.size();) {
    const double size = std::abs(values[begin]);
    std::size_t end = begin;
    while (end < values.size() && std::abs(values[end]) == size) ++end;
    const double rank = static_cast<double>(begin + 1 + end) / 2;  // mean of begin + 1 .. end
    for (std::size_t i = begin; i < end; ++i) {
      sums.positive += values[i] > 0 ? rank : values[i] == 0 ? rank / 2 : 0;
      sums.squares += size > 0 ? rank * rank : 0;
    }
    sums.ties = sums.ties || end - begin > 1 || size == 0;
    begin = end;
  }
  return sums;
}

/// How many of the means of two, from either end, lie outside the interval; 0: there is none.
std::size_t outside(std::size_t n) {
  const auto x = static_cast<double>(n);
  if (n > kExactPairs) {
    const double k = x * (x + 1) / 4 - 1.96 * std::sqrt(x * (x + 1) * (2 * x + 1) / 24);
    return k > 0 ? static_cast<std::size_t>(k) : 0;
  }
  const std::vector<double> distribution = exact_distribution(n);
  std::size_t k = 0;
  for (double sum = 0; k < distribution.size(); ++k) {
    sum += distribution[k];
    if (sum > kTailShare) break;
  }
  return k;
}

}  // namespace

std::vector<double> pairwise_means(std::span<const double> values) {
  std::vector<double> means;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  }
  std::ranges::sort(means);
  return means;
}

double signed_rank_p_value(std::span<const double> a, std::span<const double> b) {
  if (a.empty()) return kNoPairs;
  const Ranked sums = ranked(log_ratios(a, b));
  const auto n = static_cast<double>(a.size());
  const double all = n * (n + 1) / 2;
  const double nearer = std::min(sums.positive, all - sums.positive);
  if (!sums.ties && a.size() <= kExactPairs) {
    const std::vector<double> distribution = exact_distribution(a.size());
    double p = 0;
    for (std::size_t w = 0; w <= static_cast<std::size_t>(nearer); ++w) p += distribution[w];
    return std::min(1.0, 2 * p);
  }
  if (!(sums.squares > 0)) return 1;  // all pairs are equal
  const double distance = std::max(all / 2 - nearer - 0.5, 0.0);
  // No pairs of this number have a smaller one; the normal's tail does not know.
  return std::max(two_sided_normal(distance / std::sqrt(sums.squares / 4)),
                  smallest_signed_rank_p_value(a.size()));
}

RatioInterval paired_ratio_of(std::span<const double> a, std::span<const double> b) {
  if (a.empty()) return {kNoPairs, kNoPairs, kNoPairs};
  const std::vector<double> logs = log_ratios(a, b);
  const double ratio = std::exp(median_of(logs));
  const std::size_t k = outside(logs.size());
  if (k == 0) return {ratio, kNoPairs, kNoPairs};
  const std::vector<double> means = pairwise_means(logs);
  return {ratio, std::min(ratio, std::exp(means[k - 1])),
          std::max(ratio, std::exp(means[means.size() - k]))};
}

double smallest_signed_rank_p_value(std::size_t n) {
  return std::min(1.0, std::ldexp(2.0, -static_cast<int>(n)));
}

}  // namespace scalebench
