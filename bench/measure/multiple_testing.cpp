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

}  // namespace scalebench
