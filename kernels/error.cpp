// SPDX-License-Identifier: Apache-2.0
#include "kernels/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace scalebench {
namespace {

/// Edit distance in which swapping two neighbours also counts as one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view given, std::span<const std::string_view> valid) {
  std::string_view best;
  std::size_t best_distance = given.size() + 1;
  for (const std::string_view name : valid) {
    const std::size_t d = distance(given, name);
    if (d < best_distance && d <= (name.size() + 2) / 3) {
      best = name;
      best_distance = d;
    }
  }
  return best;
}

std::string unknown_name(std::string_view kind, std::string_view given,
                         std::span<const std::string_view> valid) {
  std::string text = fmt::format("unknown {} '{}'; valid: {}", kind, given, fmt::join(valid, ", "));
  const std::string_view near = nearest_name(given, valid);
  if (!near.empty()) text += fmt::format(" (did you mean '{}'?)", near);
  return text;
}

}  // namespace scalebench
