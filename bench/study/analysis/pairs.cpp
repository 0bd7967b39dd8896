// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "bench/measure/statistics.hpp"

namespace scalebench {

const Cell* CellPair::broken() const {
  for (const Cell* const side : {a, b}) {
    if (side != nullptr && side->status != "ok" && side->status != "skipped") return side;
  }
  return nullptr;
}

CellSamples CellPair::samples() const {
  CellSamples both;
  if (broken() != nullptr) return both;
  if (a != nullptr) both.a = a->seconds;
  if (b != nullptr) both.b = b->seconds;
  return both;
}

std::vector<CellPair> pairs_of(const std::vector<Cell>& a, const std::vector<Cell>& b) {
  std::vector<CellPair> pairs;
  std::unordered_map<std::string_view, std::size_t> place_of;
  for (const Cell& cell : a) {
    place_of.emplace(cell.key, pairs.size());
    pairs.push_back({&cell, nullptr});
  }
  for (const Cell& cell : b) {
    const auto [found, is_new] = place_of.emplace(cell.key, pairs.size());
    if (is_new) pairs.emplace_back();
    pairs[found->second].b = &cell;
  }
  return pairs;
}

namespace {

CellComparison compared(const CellSamples& cell) {
  CellComparison result;
  result.seconds_a = median_of(cell.a);
  result.seconds_b = median_of(cell.b);
  const RatioInterval ratio = ratio_of(cell.a, cell.b);
  result.ratio = ratio.ratio;
  result.ratio_low = ratio.low;
  result.ratio_high = ratio.high;
  result.p_value = rank_sum_p_value(cell.a, cell.b);
  result.floor = cell.floor;
  result.smallest_effect = cell.floor + (ratio.high - ratio.low) / 2;
  return result;
}

Verdict verdict_of(const CellComparison& cell) {
  if (std::isnan(cell.ratio)) return Verdict::missing;
  // Comparisons with an unknown bound are false, so that no interval means no verdict.
  const double most = 1 + cell.floor;
  const bool significant = cell.p_holm < kSignificance;
  if (significant && cell.ratio_low > most) return Verdict::slower;
  if (significant && cell.ratio_high < 1 / most) return Verdict::faster;
  if (cell.ratio_low >= 1 / most && cell.ratio_high <= most) return Verdict::same;
  return Verdict::ambiguous;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::same:
      return "SAME";
    case Verdict::faster:
      return "FASTER";
    case Verdict::slower:
      return "SLOWER";
    case Verdict::ambiguous:
      return "AMBIGUOUS";
    case Verdict::missing:
      return "MISSING";
  }
  return "";
}

std::vector<CellComparison> compare_cells(std::span<const CellSamples> cells) {
  std::vector<CellComparison> results;
  std::vector<double> p_values;
  for (const CellSamples& cell : cells) {
    results.push_back(compared(cell));
    p_values.push_back(results.back().p_value);
  }
  const std::vector<double> adjusted = holm(p_values);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].p_holm = adjusted[i];
    results[i].verdict = verdict_of(results[i]);
  }
  return results;
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<double> adjusted(p_values.begin(), p_values.end());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (!std::isnan(p_values[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p_values[i]; });
  double largest = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto left = static_cast<double>(order.size() - place);
    largest = std::max(largest, std::min(1.0, left * p_values[order[place]]));
    adjusted[order[place]] = largest;
  }
  return adjusted;
}

std::size_t launches_needed(std::size_t cells) {
  std::size_t launches = 4;
  while (static_cast<double>(cells) * smallest_p_value(launches, launches) >= kSignificance) {
    ++launches;
  }
  return launches;
}

}  // namespace scalebench
