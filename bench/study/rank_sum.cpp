// SPDX-License-Identifier: Apache-2.0
#include "bench/study/rank_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
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

double two_sided_normal(double z) { return std::erfc(std::abs(z) / std::sqrt(2.0)); }

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
  return two_sided_normal(distance / std::sqrt(variance));
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

}  // namespace scalebench
