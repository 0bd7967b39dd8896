// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "bench/measure/statistics.hpp"
#include "bench/study/analysis/pairs.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 16> kCopied{
    "schema_version", "run_id", "case_id",    "origin", "algorithm", "transport",
    "memory",         "dtype",  "op",         "mode",   "placement", "cache",
    "graph",          "ranks",  "size_bytes", "nodes"};

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

double spread_of(const std::vector<ResultRow>& certificate_rows) {
  std::vector<double> distances;
  for (const ResultRow& row : certificate_rows) {
    const double ratio = number_in(row, "ratio");
    if (ratio > 0) distances.push_back(std::max(ratio, 1 / ratio) - 1);
  }
  return high_percentile(std::move(distances));
}

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
  std::vector<double> effects;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const CellComparison& result = results[i];
    certificate.rows.push_back(row_of(pairs[i], samples[i], result));
    if (result.verdict == Verdict::missing) continue;
    ++certificate.compared;
    certificate.differing += result.differs() ? 1 : 0;
    certificate.ambiguous += result.verdict == Verdict::ambiguous ? 1 : 0;
    if (!std::isnan(result.smallest_effect)) effects.push_back(result.smallest_effect);
    fewest = std::min({fewest, samples[i].a.size(), samples[i].b.size()});
  }
  certificate.cells = pairs.size();
  certificate.launches_needed = launches_needed(pairs.size());
  certificate.spread = spread_of(certificate.rows);
  certificate.smallest_effect = high_percentile(effects);
  certificate.incomplete = why_incomplete(certificate, fewest);
  std::ranges::stable_sort(certificate.rows, {}, order_of);
  return certificate;
}

}  // namespace scalebench
