// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/pairs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "bench/measure/multiple_testing.hpp"
#include "bench/measure/signed_rank.hpp"
#include "bench/measure/statistics.hpp"

namespace scalebench {

const Cell* CellPair::broken() const {
  for (const Cell* const side : {a, b}) {
    if (side != nullptr && side->status != "ok" && side->status != "skipped") return side;
  }
  return nullptr;
}

CellSamples CellPair::samples(bool paired) const {
  CellSamples both;
  if (broken() != nullptr) return both;
  if (paired && a != nullptr && b != nullptr) {
    both.paired = true;
    const std::map<int, double> of_b = b->seconds_by_round();
    for (const auto& [round, seconds] : a->seconds_by_round()) {
      const auto found = of_b.find(round);
      if (found == of_b.end()) continue;
      both.a.push_back(seconds);
      both.b.push_back(found->second);
    }
    return both;
  }
  if (a != nullptr) both.a = a->seconds;
  if (b != nullptr) both.b = b->seconds;
  return both;
}

std::vector<CellPair> pairs_of(const std::vector<Cell>& a, const std::vector<Cell>& b) {
  std::vector<CellPair> pairs;
  using CaseAndOrigin = std::pair<std::string_view, std::string_view>;
  std::map<CaseAndOrigin, std::size_t> place_of;
  const auto whole = [](const Cell& cell) {
    return CaseAndOrigin(cell.case_key(), cell.row.get("origin"));
  };
  for (const Cell& cell : a) {
    place_of.emplace(whole(cell), pairs.size());
    pairs.push_back({&cell, nullptr});
  }
  std::vector<const Cell*> rest;
  for (const Cell& cell : b) {
    const auto found = place_of.find(whole(cell));
    if (found == place_of.end()) {
      rest.push_back(&cell);
    } else {
      pairs[found->second].b = &cell;
    }
  }
  for (const Cell* const cell : rest) {
    auto at = place_of.lower_bound({cell->case_key(), ""});
    const auto is_its = [&] { return at != place_of.end() && at->first.first == cell->case_key(); };
    while (is_its() && pairs[at->second].b != nullptr) ++at;
    if (is_its()) {
      pairs[at->second].b = cell;
    } else {
      pairs.push_back({nullptr, cell});
    }
  }
  return pairs;
}

namespace {

CellComparison compared(const CellSamples& cell) {
  CellComparison result;
  result.seconds_a = median_of(cell.a);
  result.seconds_b = median_of(cell.b);
  const RatioInterval ratio =
      cell.paired ? paired_ratio_of(cell.a, cell.b) : ratio_of(cell.a, cell.b);
  result.ratio = ratio.ratio;
  result.ratio_low = ratio.low;
  result.ratio_high = ratio.high;
  result.p_value =
      cell.paired ? signed_rank_p_value(cell.a, cell.b) : rank_sum_p_value(cell.a, cell.b);
  return result;
}

/// Of a standard normal: exceeded with probability `p`.
double normal_quantile(double p) { return student_t_quantile(p, 1e6); }

/// What so many launches a side can have.
double smallest_p_of(std::size_t a, std::size_t b, bool paired) {
  return paired ? smallest_signed_rank_p_value(a) : smallest_p_value(a, b);
}

/// An estimate of a log ratio is about normal; its 95 % interval says how wide. A difference is
/// found when the interval is clear of the floor and the test, after the strictest of Holm's
/// corrections, significant.
void set_power(CellComparison& result, const CellSamples& cell, std::size_t tested) {
  const auto cells = static_cast<double>(tested);
  result.critical_effect = result.smallest_effect = std::numeric_limits<double>::quiet_NaN();
  if (smallest_p_of(cell.a.size(), cell.b.size(), cell.paired) * cells >= kSignificance) return;
  const double half_width = (std::log(result.ratio_high) - std::log(result.ratio_low)) / 2;
  const double deviation = half_width / normal_quantile(kSignificance / 2);
  const double critical = std::max(std::log(1 + kFloor) + half_width,
                                   normal_quantile(kSignificance / 2 / cells) * deviation);
  result.critical_effect = std::expm1(critical);
  result.smallest_effect = std::expm1(critical + normal_quantile(1 - kPower) * deviation);
}

Verdict verdict_of(const CellComparison& cell) {
  if (std::isnan(cell.ratio)) return Verdict::missing;
  // Comparisons with an unknown bound are false, so that no interval means no verdict.
  constexpr double most = 1 + kFloor;
  const bool significant = cell.p_holm < kSignificance;
  if (significant && cell.ratio_low > most) return Verdict::slower;
  if (significant && cell.ratio_high < 1 / most) return Verdict::faster;
  if (cell.ratio_low >= 1 / most && cell.ratio_high <= most) return Verdict::same;
  return Verdict::ambiguous;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  constexpr std::array<std::string_view, 5> kNames{"SAME", "FASTER", "SLOWER", "AMBIGUOUS",
                                                   "MISSING"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

std::vector<CellComparison> compare_cells(std::span<const CellSamples> cells) {
  std::vector<CellComparison> results;
  std::vector<double> p_values;
  for (const CellSamples& cell : cells) {
    results.push_back(compared(cell));
    p_values.push_back(results.back().p_value);
  }
  const std::vector<double> adjusted = holm(p_values);
  const auto tested = static_cast<std::size_t>(
      std::ranges::count_if(p_values, [](double p) { return !std::isnan(p); }));
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].p_holm = adjusted[i];
    results[i].verdict = verdict_of(results[i]);
    set_power(results[i], cells[i], tested);
  }
  return results;
}

std::size_t launches_needed(std::size_t cells, bool paired) {
  std::size_t launches = 4;
  while (static_cast<double>(cells) * smallest_p_of(launches, launches, paired) >= kSignificance) {
    ++launches;
  }
  return launches;
}

}  // namespace scalebench
