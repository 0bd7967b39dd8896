// SPDX-License-Identifier: Apache-2.0
#include "bench/study/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "bench/study/compare_cells.hpp"
#include "bench/study/rank_sum.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 16> kCopied{
    "schema_version", "run_id", "case_id",    "origin", "algorithm", "transport",
    "memory",         "dtype",  "op",         "mode",   "placement", "cache",
    "graph",          "ranks",  "size_bytes", "nodes"};

/// One case over the launches of both sides.
struct Cell {
  const ResultRow* row = nullptr;  // the first, for what all share
  CellSamples samples;
  const ResultRow* broken = nullptr;  // a row that voids the cell
  const ResultRow* skipped = nullptr;

  bool is_cell() const { return broken != nullptr || !samples.a.empty() || !samples.b.empty(); }
};

void add_side(std::vector<Cell>& cells, std::map<std::string, std::size_t>& place_of,
              const std::vector<LaunchRows>& launches, std::vector<double> CellSamples::*side) {
  for (const LaunchRows& launch : launches) {
    for (const ResultRow& row : launch.cases) {
      const std::string key = row.get("case_id") + "/" + row.get("ranks");
      const auto [found, is_new] = place_of.emplace(key, cells.size());
      if (is_new) cells.emplace_back().row = &row;
      Cell& cell = cells[found->second];
      const double median = number_in(row, "seconds_median");
      if (row.get("status") == "skipped") {
        cell.skipped = &row;
      } else if (row.get("status") == "ok" && median > 0) {
        (cell.samples.*side).push_back(median);
      } else {
        cell.broken = &row;
      }
    }
  }
}

ResultRow row_of(const Cell& cell) {
  ResultRow row(certificate_schema());
  for (const std::string_view column : kCopied) row.set(column, text_in(*cell.row, column));
  return row.set("status", "ok");
}

ResultRow row_of(const Cell& cell, const CellComparison& result) {
  ResultRow row = row_of(cell);
  if (cell.broken != nullptr) {
    row.set("status", cell.broken->get("status")).set("note", cell.broken->get("note"));
  }
  row.set("launches_a", cell.samples.a.size()).set("launches_b", cell.samples.b.size());
  row.set("seconds_a", result.seconds_a).set("seconds_b", result.seconds_b);
  row.set("ratio", result.ratio).set("ratio_low", result.ratio_low);
  row.set("ratio_high", result.ratio_high).set("p_value", result.p_value);
  row.set("p_holm", result.p_holm).set("verdict", name_of(result.verdict));
  row.set("floor", result.floor).set("smallest_effect", result.smallest_effect);
  return row;
}

/// The value that 95 % of the values do not exceed; NaN without any.
double high_percentile(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(values);
  const auto place = std::ceil(0.95 * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(place) - 1];
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
  std::vector<Cell> all;
  std::map<std::string, std::size_t> place_of;
  add_side(all, place_of, a, &CellSamples::a);
  add_side(all, place_of, b, &CellSamples::b);

  Certificate certificate;
  std::vector<Cell> cells;
  std::vector<CellSamples> samples;
  for (Cell& cell : all) {
    if (!cell.is_cell()) {
      ResultRow& row = certificate.rows.emplace_back(row_of(cell));
      row.set("status", "skipped").set("note", cell.skipped->get("note"));
      continue;
    }
    if (cell.broken != nullptr) cell.samples = {};
    samples.push_back(cell.samples);
    cells.push_back(cell);
  }
  const std::vector<CellComparison> results = compare_cells(samples);
  std::vector<double> distances, effects;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const CellComparison& result = results[i];
    certificate.rows.push_back(row_of(cells[i], result));
    if (result.verdict == Verdict::missing) continue;
    ++certificate.compared;
    certificate.differing += result.differs() ? 1 : 0;
    certificate.ambiguous += result.verdict == Verdict::ambiguous ? 1 : 0;
    distances.push_back(std::max(result.ratio, 1 / result.ratio) - 1);
    if (!std::isnan(result.smallest_effect)) effects.push_back(result.smallest_effect);
    fewest = std::min({fewest, cells[i].samples.a.size(), cells[i].samples.b.size()});
  }
  certificate.cells = cells.size();
  certificate.launches_needed = launches_needed(cells.size());
  certificate.spread = high_percentile(distances);
  certificate.smallest_effect = high_percentile(effects);
  certificate.incomplete = why_incomplete(certificate, fewest);
  std::ranges::stable_sort(certificate.rows, {}, order_of);
  return certificate;
}

}  // namespace scalebench
