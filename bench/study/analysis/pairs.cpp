// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/pairs.hpp"

#include <fmt/format.h>

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

namespace {

constexpr std::array<std::string_view, 17> kCopied{
    "run_id", "case_id",  "origin", "algorithm",  "transport", "memory",
    "dtype",  "op",       "mode",   "placement",  "cache",     "graph",
    "pages",  "register", "ranks",  "size_bytes", "nodes"};

ResultRow row_of(const CellPair& pair) {
  ResultRow row(certificate_schema());
  for (const std::string_view column : kCopied) row.set(column, text_in(pair.any().row, column));
  return row.set("status", "ok");
}

ResultRow row_of(const CellPair& pair, const CellSamples& samples, const CellComparison& result) {
  ResultRow row = row_of(pair);
  if (const Cell* const broken = pair.broken(); broken != nullptr) {
    row.set("status", broken->status).set("note", broken->note);
  }
  row.set("launches_a", samples.a.size()).set("launches_b", samples.b.size());
  row.set("seconds_a", result.seconds_a).set("seconds_b", result.seconds_b);
  row.set("ratio", result.ratio).set("ratio_low", result.ratio_low);
  row.set("ratio_high", result.ratio_high).set("p_value", result.p_value);
  row.set("p_holm", result.p_holm).set("verdict", name_of(result.verdict));
  row.set("floor", kFloor).set("smallest_effect", result.smallest_effect);
  return row;
}

/// The value that 95 % of the values do not exceed; NaN without any.
double high_percentile(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(values);
  const auto place = std::ceil(0.95 * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(place) - 1];
}

/// 95 % of the rows' ratios lie within 1/(1+spread) .. 1+spread; NaN when none has a ratio.
double spread_of(const std::vector<ResultRow>& certificate_rows) {
  std::vector<double> distances;
  for (const ResultRow& row : certificate_rows) {
    const double ratio = number_in(row, "ratio");
    if (ratio > 0) distances.push_back(std::max(ratio, 1 / ratio) - 1);
  }
  return high_percentile(std::move(distances));
}

/// How likely a cell shows an effect whose logarithm is `effect`.
double power_of(const CellComparison& cell, double effect) {
  const double critical = std::log1p(cell.critical_effect);
  const double deviation =
      (std::log1p(cell.smallest_effect) - critical) / normal_quantile(1 - kPower);
  return deviation > 0 ? student_t_tail((critical - effect) / deviation, 1e6)
                       : static_cast<double>(effect > critical);
}

/// The effect that these cells find with kPower in the mean; NaN when some can find none at all.
double effect_found(const std::vector<CellComparison>& cells) {
  double low = 0, high = 0;
  for (const CellComparison& cell : cells) {
    if (std::isnan(cell.smallest_effect)) return std::numeric_limits<double>::quiet_NaN();
    high = std::max(high, std::log1p(cell.smallest_effect));
  }
  const auto mean_power = [&](double effect) {
    double sum = 0;
    for (const CellComparison& cell : cells) sum += power_of(cell, effect);
    return sum / static_cast<double>(cells.size());
  };
  for (int halvings = 0; halvings < 40; ++halvings) {
    const double middle = (low + high) / 2;
    (mean_power(middle) < kPower ? low : high) = middle;
  }
  return std::expm1(high);
}

/// Why these launches cannot certify anything, whatever they show; empty when they can.
std::string why_incomplete(const Certificate& certificate, std::size_t fewest_launches) {
  if (certificate.compared < certificate.cells) {
    return fmt::format("{} of {} cells are wrong or were not measured on both sides",
                       certificate.cells - certificate.compared, certificate.cells);
  }
  if (fewest_launches < certificate.launches_needed) {
    return fmt::format("{} launches a side cannot find a difference among {} cells: it takes {}",
                       fewest_launches, certificate.cells, certificate.launches_needed);
  }
  return "";
}

}  // namespace

Certificate certificate_of(const std::vector<LaunchRows>& a, const std::vector<LaunchRows>& b) {
  const std::vector<Cell> cells_a = cells_of(a), cells_b = cells_of(b);

  Certificate certificate;
  std::vector<CellPair> pairs;
  std::vector<CellSamples> samples;
  for (const CellPair& pair : pairs_of(cells_a, cells_b)) {
    if (pair.skipped()) {
      ResultRow& row = certificate.rows.emplace_back(row_of(pair));
      row.set("status", "skipped").set("note", pair.any().note);
      continue;
    }
    samples.push_back(pair.samples());
    pairs.push_back(pair);
  }
  const std::vector<CellComparison> results = compare_cells(samples);
  std::map<CellFamily, std::vector<CellComparison>> families;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const CellComparison& result = results[i];
    certificate.rows.push_back(row_of(pairs[i], samples[i], result));
    if (result.verdict == Verdict::missing) continue;
    ++certificate.compared;
    certificate.differing += result.differs() ? 1 : 0;
    certificate.equal += result.verdict == Verdict::same ? 1 : 0;
    families[pairs[i].any().family].push_back(result);
    fewest = std::min({fewest, samples[i].a.size(), samples[i].b.size()});
  }
  certificate.cells = pairs.size();
  certificate.launches_needed = launches_needed(pairs.size());
  certificate.spread = spread_of(certificate.rows);
  for (const auto& [family, of_family] : families) {
    certificate.families.push_back({family, of_family.size(), effect_found(of_family)});
  }
  certificate.incomplete = why_incomplete(certificate, fewest);
  std::ranges::stable_sort(certificate.rows, {}, order_of);
  return certificate;
}

}  // namespace scalebench
