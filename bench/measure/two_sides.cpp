// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/two_sides.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr TwoSides kNothing{kNone, {kNone, kNone}, {kNone, kNone}, kNone};
constexpr std::size_t kExactRounds = 50;
constexpr std::size_t kExactApart = 30;

std::vector<double> logs_of(std::span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  return logs;
}

/// Twice the rank of each value, from 2 on; ties share the mean of theirs, which doubled is whole.
std::vector<std::size_t> doubled_ranks(const std::vector<double>& values) {
  std::vector<std::size_t> ranks;
  for (const double value : values) {
    const auto below = std::ranges::count_if(values, [&](double v) { return v < value; });
    const auto equal = std::ranges::count(values, value);
    ranks.push_back(static_cast<std::size_t>(2 * below + equal + 1));
  }
  return ranks;
}

std::vector<std::size_t> doubled_ranks_without_ties(std::size_t n) {
  std::vector<std::size_t> ranks(n);
  for (std::size_t i = 0; i < n; ++i) ranks[i] = 2 * (i + 1);
  return ranks;
}

/// P by sum of doubled ranks, each in the sum or not, all ways alike.
std::vector<double> sums_of_any(const std::vector<std::size_t>& ranks) {
  std::vector<double> p{1};
  for (const std::size_t rank : ranks) {
    std::vector<double> next(p.size() + rank);
    for (std::size_t sum = 0; sum < p.size(); ++sum) {
      next[sum] += p[sum] / 2;
      next[sum + rank] += p[sum] / 2;
    }
    p = std::move(next);
  }
  return p;
}

/// P by sum of doubled ranks, so many of them in the sum, all choices alike.
std::vector<double> sums_of(std::size_t chosen, const std::vector<std::size_t>& ranks) {
  const std::size_t most = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(most + 1));
  ways[0][0] = 1;
  for (const std::size_t rank : ranks) {
    for (std::size_t k = chosen; k > 0; --k) {
      for (std::size_t sum = most; sum >= rank; --sum) ways[k][sum] += ways[k - 1][sum - rank];
    }
  }
  const double all = std::accumulate(ways[chosen].begin(), ways[chosen].end(), 0.0);
  for (double& way : ways[chosen]) way /= all;
  return ways[chosen];
}

/// Of a sum as far from the middle as `sum`, on either side.
double two_sided(const std::vector<double>& p, std::size_t sum) {
  const auto at = p.begin() + static_cast<std::ptrdiff_t>(sum);
  const double nearer =
      std::min(std::accumulate(p.begin(), at + 1, 0.0), std::accumulate(at, p.end(), 0.0));
  return std::min(1.0, 2 * nearer);
}

/// The number of estimates above 0 under "both are alike", where it is too large to be counted out.
struct Normal {
  double mean = 0;
  double variance = 0;

  double two_sided(double count) const {
    return std::erfc(std::max(std::abs(count - mean) - 0.5, 0.0) / std::sqrt(2 * variance));
  }
  /// How many estimates from either end lie outside an interval with this much beyond each end.
  std::size_t outside(double tail) const {
    const double k = mean - student_t_quantile(tail, 1e6) * std::sqrt(variance);
    return k > 0 ? static_cast<std::size_t>(k) : 0;
  }
};

/// The same, counted out: `p` by doubled sum of ranks without ties, whose least is `least`.
std::size_t outside(const std::vector<double>& p, std::size_t least, double tail) {
  std::size_t k = 0;
  double sum = 0;
  for (std::size_t at = least; at < p.size(); at += 2, ++k) {
    sum += p[at];
    if (sum > tail) break;
  }
  return k;
}

/// How many estimates lie outside of the two intervals.
struct Outside {
  std::size_t of_95 = 0, of_90 = 0;
};

TwoSides summary_of(std::vector<double> estimates, Outside outside, double p_value) {
  std::ranges::sort(estimates);
  const auto interval = [&](std::size_t k) -> Interval {
    if (k == 0) return {kNone, kNone};
    return {std::exp(estimates[k - 1]), std::exp(estimates[estimates.size() - k])};
  };
  return {std::exp(median_of(estimates)), interval(outside.of_95), interval(outside.of_90),
          p_value};
}

constexpr double kTail95 = 0.025, kTail90 = 0.05;

/// A zero has no sign: half of its rank counts, whatever the others do.
double signed_rank_p_value(const std::vector<double>& logs) {
  std::vector<double> sizes;
  for (const double log : logs) sizes.push_back(std::abs(log));
  const std::vector<std::size_t> all = doubled_ranks(sizes);
  std::vector<std::size_t> ranks;
  std::size_t positive = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (logs[i] == 0) continue;
    ranks.push_back(all[i]);
    if (logs[i] > 0) positive += all[i];
  }
  return two_sided(sums_of_any(ranks), positive);
}

/// The means of all pairs of values, each value with itself too.
std::vector<double> pairwise_means(const std::vector<double>& values) {
  std::vector<double> means;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  }
  return means;
}

/// Places of the p-values that are there, smallest first.
std::vector<std::size_t> order_of(std::span<const double> p_values) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (!std::isnan(p_values[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p_values[i]; });
  return order;
}

}  // namespace

TwoSides compared_in_rounds(std::span<const double> a, std::span<const double> b) {
  if (a.empty()) return kNothing;
  std::vector<double> logs;
  for (std::size_t i = 0; i < a.size(); ++i) logs.push_back(std::log(b[i] / a[i]));
  std::vector<double> means = pairwise_means(logs);
  const std::size_t n = logs.size();
  if (n <= kExactRounds) {
    const std::vector<double> p = sums_of_any(doubled_ranks_without_ties(n));
    return summary_of(std::move(means), {outside(p, 0, kTail95), outside(p, 0, kTail90)},
                      signed_rank_p_value(logs));
  }
  const auto x = static_cast<double>(n);
  const Normal normal{x * (x + 1) / 4, x * (x + 1) * (2 * x + 1) / 24};
  double above = 0;
  for (const double mean : means) above += mean > 0 ? 1 : mean == 0 ? 0.5 : 0;
  return summary_of(std::move(means), {normal.outside(kTail95), normal.outside(kTail90)},
                    std::max(normal.two_sided(above), smallest_p_in_rounds(n)));
}

TwoSides compared_apart(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return kNothing;
  const std::vector<double> of_a = logs_of(a), of_b = logs_of(b);
  std::vector<double> shifts;
  double above = 0;
  for (const double x : of_a) {
    for (const double y : of_b) {
      shifts.push_back(y - x);
      above += y > x ? 1 : y == x ? 0.5 : 0;
    }
  }
  const std::size_t n = b.size(), m = a.size();
  if (n <= kExactApart && m <= kExactApart) {
    const std::size_t least = n * (n + 1);  // twice the sum of the lowest ranks
    const std::vector<double> p = sums_of(n, doubled_ranks_without_ties(n + m));
    std::vector<double> all = of_b;
    all.insert(all.end(), of_a.begin(), of_a.end());
    const std::vector<std::size_t> ranks = doubled_ranks(all);
    const bool ties = !std::ranges::is_permutation(ranks, doubled_ranks_without_ties(n + m));
    const auto sum = least + static_cast<std::size_t>(2 * above);
    return summary_of(std::move(shifts), {outside(p, least, kTail95), outside(p, least, kTail90)},
                      two_sided(ties ? sums_of(n, ranks) : p, sum));
  }
  const auto x = static_cast<double>(n), y = static_cast<double>(m);
  const Normal normal{x * y / 2, x * y * (x + y + 1) / 12};
  return summary_of(std::move(shifts), {normal.outside(kTail95), normal.outside(kTail90)},
                    std::max(normal.two_sided(above), smallest_p_apart(n, m)));
}

double smallest_p_in_rounds(std::size_t n) {
  return std::min(1.0, std::ldexp(2.0, -static_cast<int>(n)));
}

double smallest_p_apart(std::size_t n, std::size_t m) {
  double p = 2;  // 2 / (n + m over n)
  for (std::size_t i = 1; i <= n; ++i) p *= static_cast<double>(i) / static_cast<double>(m + i);
  return std::min(p, 1.0);
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<double> adjusted(p_values.begin(), p_values.end());
  const std::vector<std::size_t> order = order_of(p_values);
  double largest = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto left = static_cast<double>(order.size() - place);
    largest = std::max(largest, std::min(1.0, left * p_values[order[place]]));
    adjusted[order[place]] = largest;
  }
  return adjusted;
}

}  // namespace scalebench
