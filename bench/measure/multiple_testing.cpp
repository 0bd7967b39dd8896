// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/multiple_testing.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace scalebench {
namespace {

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

std::vector<double> benjamini_hochberg(std::span<const double> p_values) {
  std::vector<double> adjusted(p_values.begin(), p_values.end());
  const std::vector<std::size_t> order = order_of(p_values);
  const auto tests = static_cast<double>(order.size());
  double smallest = 1;
  for (std::size_t place = order.size(); place > 0; --place) {
    const std::size_t i = order[place - 1];
    smallest = std::min(smallest, p_values[i] * tests / static_cast<double>(place));
    adjusted[i] = smallest;
  }
  return adjusted;
}

std::vector<double> discovery_limits(std::span<const double> p_values) {
  std::vector<double> limits(p_values.size(), std::numeric_limits<double>::quiet_NaN());
  const std::vector<std::size_t> order = order_of(p_values);
  const std::size_t tests = order.size();
  const auto step = [&](std::size_t k) {
    return kFalseDiscoveryRate * static_cast<double>(k) / static_cast<double>(tests);
  };
  // A discovery is among the k smallest for some k, so k - 1 others must lie up to the k-th step.
  // How many do is known from all of them: the test itself is counted from its own p on.
  std::size_t counted = 0;                      // largest k when it is counted itself
  std::vector<std::size_t> open(tests + 1, 1);  // largest k up to each, when it is not
  for (std::size_t k = 1; k <= tests; ++k) {
    const auto end =
        std::ranges::partition_point(order, [&](std::size_t i) { return p_values[i] <= step(k); });
    const auto below = static_cast<std::size_t>(end - order.begin());
    if (below >= k) counted = k;
    open[k] = below + 1 >= k ? k : open[k - 1];
  }
  for (const std::size_t i : order) {
    if (counted > 0 && p_values[i] <= step(counted)) {
      limits[i] = step(counted);
      continue;
    }
    std::size_t k = tests;
    while (k > 1 && step(k) >= p_values[i]) --k;
    limits[i] = step(open[k]);
  }
  return limits;
}

}  // namespace scalebench
