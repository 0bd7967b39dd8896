// SPDX-License-Identifier: Apache-2.0
#include "bench/study/gate_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace scalebench {
namespace {

constexpr std::size_t kHistoryNights = 40;

/// What a row's status column says of a verdict, in the words of all result files.
std::string status_of(const GateCell& cell) {
  switch (cell.verdict) {
    case GateVerdict::missing:
      return "failed";
    case GateVerdict::invalid:
      return cell.cell.status == "ok" ? "wrong" : cell.cell.status;
    case GateVerdict::skipped:
    case GateVerdict::excluded:
      return "skipped";
    default:
      return "ok";
  }
}

/// From what needs a look to what does not.
std::size_t order_of(GateVerdict verdict) {
  constexpr std::array kOrder{
      GateVerdict::confirmed, GateVerdict::regressed, GateVerdict::invalid,
      GateVerdict::missing,   GateVerdict::drift,     GateVerdict::ambiguous,
      GateVerdict::improved,  GateVerdict::ok,        GateVerdict::insufficient,
      GateVerdict::skipped,   GateVerdict::excluded};
  return static_cast<std::size_t>(std::ranges::find(kOrder, verdict) - kOrder.begin());
}

void set_cell(ResultRow& row, const NightCell& cell, const std::string& run_id) {
  row.set("schema_version", kSchemaVersion).set("run_id", run_id).set("case_id", cell.case_id);
  row.set("origin", cell.origin).set("bench", cell.bench).set("label", cell.label);
  row.set("ranks", cell.ranks).set("metric", cell.metric);
}

ResultRow row_of(const GateCell& cell, const GateReport& report) {
  ResultRow row(gate_schema());
  set_cell(row, cell.cell, report.nights.back());
  row.set("status", status_of(cell)).set("note", cell.note).set("family", cell.cell.family);
  row.set("verdict", name_of(cell.verdict)).set("nights", cell.baseline.nights);
  const bool there = cell.verdict != GateVerdict::missing;
  row.set("launches", there ? cell.cell.launches.size() : 0);
  const double level = cell.baseline.level;
  row.set("before", std::exp(cell.cell.is_time() ? -level : level));
  row.set("after", cell.values.back()).set("floor", cell.cell.floor);
  const CellTest& test = cell.test;
  const bool worse = !(test.score >= 0);
  row.set("change", test.change).set("change_low", test.change_low);
  row.set("change_high", test.change_high).set("score", test.score);
  row.set("p_value", worse ? test.p_worse : test.p_better);
  row.set("q_value", worse ? test.q_worse : test.q_better).set("mde", cell.smallest_drop);
  row.set("pinned_before", cell.pinned_value).set("pinned_change", cell.pinned_change);
  row.set("drift_change", cell.drift.found ? cell.drift.change : kNotMeasured);
  if (cell.drift.found) row.set("drift_since_run", cell.drift_since_run);
  if (test.rerun != Agreement::unknown) row.set("rerun_run", report.rerun_run);
  return row;
}

}  // namespace

std::vector<ResultRow> gate_rows(const GateReport& report) {
  std::vector<const GateCell*> cells;
  for (const GateCell& cell : report.cells) cells.push_back(&cell);
  std::ranges::stable_sort(cells, {}, [](const GateCell* cell) { return order_of(cell->verdict); });
  std::vector<ResultRow> rows;
  for (const GateCell* const cell : cells) rows.push_back(row_of(*cell, report));
  return rows;
}

std::vector<ResultRow> history_rows(const GateReport& report) {
  const std::size_t nights = report.nights.size();
  const std::size_t first = nights > kHistoryNights ? nights - kHistoryNights : 0;
  std::vector<ResultRow> rows;
  for (const GateCell& cell : report.cells) {
    for (std::size_t k = first; k < nights; ++k) {
      ResultRow& row = rows.emplace_back(history_schema());
      set_cell(row, cell.cell, report.nights[k]);
      row.set("started_utc", report.started_utc[k]).set("value", cell.values[k]);
      row.set("accepted", cell.in_baseline.contains(k)).set("segment", cell.segments[k]);
    }
  }
  return rows;
}

}  // namespace scalebench
