// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/pairs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "bench/measure/statistics.hpp"
#include "bench/measure/two_sides.hpp"

namespace scalebench {

const Cell* CellPair::broken() const {
  for (const Cell* const side : {a, b}) {
    if (side != nullptr && side->status != "ok" && side->status != "skipped") return side;
  }
  return nullptr;
}

CellSamples CellPair::samples(bool paired) const {
  CellSamples both;
  both.floor = any().family == CellFamily::latency ? kLatencyFloor : kFloor;
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

/// Of a standard normal: exceeded with probability `p`.
double normal_quantile(double p) { return student_t_quantile(p, 1e6); }

/// What so many launches a side can have.
double smallest_p_of(std::size_t a, std::size_t b, bool paired) {
  return paired ? smallest_p_in_rounds(a) : smallest_p_apart(a, b);
}

CellComparison compared(const CellSamples& cell, const TwoSides& sides) {
  CellComparison result;
  result.seconds_a = median_of(cell.a);
  result.seconds_b = median_of(cell.b);
  result.ratio = sides.ratio;
  result.ratio_low = sides.within_95.low;
  result.ratio_high = sides.within_95.high;
  result.p_value = sides.p_value;
  return result;
}

Verdict verdict_of(const CellComparison& cell, const Interval& within_90, double floor) {
  if (std::isnan(cell.ratio)) return Verdict::missing;
  // Comparisons with an unknown bound are false, so that no interval means no verdict.
  const double most = 1 + floor;
  if (cell.p_holm <= kSignificance && cell.ratio > most) return Verdict::slower;
  if (cell.p_holm <= kSignificance && cell.ratio < 1 / most) return Verdict::faster;
  if (within_90.low >= 1 / most && within_90.high <= most) return Verdict::same;
  return Verdict::undecided;
}

/// What so many cells ask of one: the standard deviations by which the strictest of Holm's
/// corrections is passed.
double strictest(std::size_t cells) {
  return normal_quantile(kSignificance / 2 / static_cast<double>(cells));
}

/// An estimate of a log ratio is about normal; its 95 % interval says how wide. A difference is
/// found when the estimate is beyond the floor and the test significant.
double smallest_effect_of(const CellComparison& cell, const CellSamples& samples,
                          std::size_t cells) {
  const double smallest_p = smallest_p_of(samples.a.size(), samples.b.size(), samples.paired);
  if (smallest_p * static_cast<double>(cells) > kSignificance) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double deviation = (std::log(cell.ratio_high) - std::log(cell.ratio_low)) / 2 /
                           normal_quantile(kSignificance / 2);
  const double critical = std::max(std::log1p(samples.floor), strictest(cells) * deviation);
  return std::expm1(critical + normal_quantile(1 - kPower) * deviation);
}

/// Rounds (or launches a side) after which the cell would be decided, were its ratio and the spread
/// of its values as they are: significant where it is beyond the floor, else surely within it.
std::size_t rounds_needed_of(const CellComparison& cell, const CellSamples& samples,
                             std::size_t cells) {
  const std::size_t least = launches_needed(cells, samples.paired);
  const auto have = static_cast<double>(std::min(samples.a.size(), samples.b.size()));
  const double deviation = (std::log(cell.ratio_high) - std::log(cell.ratio_low)) / 2 /
                           normal_quantile(kSignificance / 2) * std::sqrt(have);
  if (std::isnan(deviation)) return least;
  const double away = std::abs(std::log(cell.ratio)), floor = std::log1p(samples.floor);
  const double needed = away > floor ? strictest(cells) * deviation / away
                                     : normal_quantile(kSignificance) * deviation / (floor - away);
  // The square, unless it is beyond all use: the ratio may lie on the floor.
  if (!(needed * needed < static_cast<double>(kTooManyRounds))) return kTooManyRounds;
  return std::max({least, static_cast<std::size_t>(std::ceil(needed * needed)),
                   static_cast<std::size_t>(have) + 1});
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  constexpr std::array<std::string_view, 5> kNames{"SAME", "FASTER", "SLOWER", "UNDECIDED",
                                                   "MISSING"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

std::vector<CellComparison> compare_cells(std::span<const CellSamples> cells) {
  std::vector<TwoSides> sides;
  std::vector<double> p_values;
  for (const CellSamples& cell : cells) {
    sides.push_back(cell.paired ? compared_in_rounds(cell.a, cell.b)
                                : compared_apart(cell.a, cell.b));
    p_values.push_back(sides.back().p_value);
  }
  const std::vector<double> adjusted = holm(p_values);
  const auto tested = static_cast<std::size_t>(
      std::ranges::count_if(p_values, [](double p) { return !std::isnan(p); }));
  std::vector<CellComparison> results;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    CellComparison& result = results.emplace_back(compared(cells[i], sides[i]));
    result.p_holm = adjusted[i];
    result.verdict = verdict_of(result, sides[i].within_90, cells[i].floor);
    if (result.verdict == Verdict::missing) continue;
    result.smallest_effect = smallest_effect_of(result, cells[i], tested);
    if (!result.decided()) result.rounds_needed = rounds_needed_of(result, cells[i], tested);
  }
  return results;
}

std::size_t launches_needed(std::size_t cells, bool paired) {
  std::size_t launches = 4;
  while (static_cast<double>(cells) * smallest_p_of(launches, launches, paired) > kSignificance) {
    ++launches;
  }
  return launches;
}

void relate_to_native(std::vector<Cell>& cells) {
  const auto kin_of = [](const Cell& cell) {
    return key_without(cell.row, "algorithm") + '\n' + cell.row.get("origin");
  };
  std::map<std::string, const Cell*> natives;
  for (const Cell& cell : cells) {
    const bool is_native = cell.row.get("algorithm") == "native" && cell.status != "skipped";
    if (is_native) natives.emplace(kin_of(cell), &cell);
  }
  std::vector<Cell*> others;
  std::vector<CellSamples> samples;
  for (Cell& cell : cells) {
    const auto native = natives.find(kin_of(cell));
    if (native == natives.end() || native->second == &cell || !cell.measured()) continue;
    others.push_back(&cell);
    samples.push_back(CellPair{native->second, &cell}.samples(/*paired=*/true));
  }
  const std::vector<CellComparison> compared = compare_cells(samples);
  for (std::size_t i = 0; i < others.size(); ++i) {
    const CellComparison& with = compared[i];
    ResultRow& row = others[i]->row;
    row.set("native_ratio", 1 / with.ratio).set("native_verdict", name_of(with.verdict));
    row.set("native_ratio_ci_low", 1 / with.ratio_high);
    row.set("native_ratio_ci_high", 1 / with.ratio_low);
  }
}

}  // namespace scalebench
