// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "bench/study/nightly/gate.hpp"

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

namespace {

constexpr int kPass = 0, kRegression = 1, kIncomplete = 3, kNothing = 4;

std::size_t measured(const GateReport& report) {
  return static_cast<std::size_t>(std::ranges::count_if(report.cells, [](const GateCell& cell) {
    return !std::isnan(cell.values.back()) && cell.verdict != GateVerdict::excluded;
  }));
}

std::size_t unanswered(const GateReport& report) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report.suspects(),
      [](const GateCell* const cell) { return cell->verdict == GateVerdict::ambiguous; }));
}

/// "3 regressed, 1 missing of 40 cells"; what is not there is not named.
std::string counts_of(const GateReport& report) {
  std::vector<std::string> parts;
  constexpr std::pair<GateVerdict, std::string_view> kNamed[] = {
      {GateVerdict::confirmed, "confirmed regressions"},
      {GateVerdict::regressed, "regressed"},
      {GateVerdict::drift, "drifting"},
      {GateVerdict::ambiguous, "ambiguous"},
      {GateVerdict::missing, "missing"},
      {GateVerdict::invalid, "invalid"},
      {GateVerdict::improved, "improved"},
      {GateVerdict::insufficient, "without enough nights"}};
  for (const auto& [verdict, what] : kNamed) {
    if (const std::size_t count = report.count(verdict); count > 0) {
      parts.push_back(fmt::format("{} {}", count, what));
    }
  }
  std::string text = fmt::format("{} of {} cells tested", report.tested(), report.cells.size());
  if (!parts.empty()) text += fmt::format(": {}", fmt::join(parts, ", "));
  return text;
}

std::string host_sentence(const GateReport& report) {
  if (report.test.host_alarm()) {
    return fmt::format("all cells together {:+.1f} %: the host, not one case. ",
                       100 * std::expm1(report.test.shift));
  }
  return fmt::format("all cells together have drifted {:+.1f} %: the host. ",
                     100 * report.host_drift.change);
}

}  // namespace

NightVerdict verdict_of(const GateReport& report, std::size_t failed_launches, bool partial,
                        const FailOn& fail_on) {
  NightVerdict verdict;
  const auto holds = [&](const std::string& state, bool is) {
    if (is) verdict.states.push_back(state);
    return is;
  };
  const auto fails = [&](std::string_view state) { return fail_on.states.contains(state); };

  if (holds("nothing measured", measured(report) == 0 || !report.overlaps)) {
    verdict.word = "NOTHING MEASURED";
    verdict.exit_code = kNothing;
    verdict.summary = report.count(GateVerdict::excluded) > 0 ? "this run is excluded"
                      : measured(report) == 0
                          ? "not one cell was measured"
                          : "not one cell in common with the nights before: nothing was compared";
    return verdict;
  }
  const std::size_t slower = report.count(GateVerdict::regressed) +
                             report.count(GateVerdict::confirmed) +
                             report.count(GateVerdict::drift);
  // A suspect that nobody measured again leaves the night without its answer.
  const std::size_t lacking = report.count(GateVerdict::missing) +
                              report.count(GateVerdict::invalid) + failed_launches +
                              unanswered(report);
  const bool regression = holds("regression", slower > 0 || report.host_alarm());
  const bool blind = holds("blind", !report.injected.passed());
  const bool incomplete = holds("incomplete", lacking > 0 || partial);
  const bool ambiguous = holds("ambiguous", report.count(GateVerdict::ambiguous) > 0);
  const bool insufficient = holds("insufficient", report.tested() == 0);

  verdict.word = slower > 0                        ? "REGRESSED"
                 : regression                      ? "HOST SHIFT"
                 : blind                           ? "BLIND"
                 : incomplete                      ? "INCOMPLETE"
                 : ambiguous && fails("ambiguous") ? "INCOMPLETE"
                 : insufficient                    ? "INSUFFICIENT"
                                                   : "PASS";
  if (regression && fails("regression")) {
    verdict.exit_code = kRegression;
  } else if (blind || (incomplete && fails("incomplete")) || (ambiguous && fails("ambiguous"))) {
    verdict.exit_code = kIncomplete;
  } else {
    verdict.exit_code = kPass;
  }
  if (report.host_alarm()) verdict.summary = host_sentence(report);
  verdict.summary += counts_of(report);
  if (failed_launches > 0) verdict.summary += fmt::format("; {} launches failed", failed_launches);
  if (const std::size_t open = unanswered(report); open > 0) {
    verdict.summary += fmt::format("; {} suspects were not measured again", open);
  }
  if (partial) verdict.summary += "; interrupted before its end";
  if (blind) verdict.summary += "; an injected drop of 10 % was not found";
  return verdict;
}

namespace {

constexpr std::size_t kMostLines = 40;

bool needs_a_look(const GateCell& cell) {
  return cell.verdict != GateVerdict::ok && cell.verdict != GateVerdict::insufficient &&
         cell.verdict != GateVerdict::skipped && cell.verdict != GateVerdict::excluded;
}

/// The median over cells of the smallest drop that tonight would have shown.
std::string sees(const GateReport& report) {
  std::vector<double> drops;
  for (const GateCell& cell : report.cells) {
    if (!std::isnan(cell.smallest_drop)) drops.push_back(cell.smallest_drop);
  }
  if (drops.empty()) return "";
  std::ranges::sort(drops);
  return fmt::format("would have found a drop of {:.1f} % in half of the cells, {:.1f} % in all\n",
                     100 * drops[drops.size() / 2], 100 * drops.back());
}

}  // namespace

std::string nightly_table(const GateReport& report, const NightVerdict& verdict) {
  std::string text;
  auto out = std::back_inserter(text);
  std::size_t lines = 0, more = 0;
  for (const GateCell& cell : report.cells) {
    if (!needs_a_look(cell)) continue;
    if (lines == kMostLines) {
      ++more;
      continue;
    }
    ++lines;
    const std::string metric = cell.cell.is_time() ? "" : " " + cell.cell.metric;
    fmt::format_to(out, "{:<10} {:>8}  {}{}{}\n", name_of(cell.verdict),
                   change_text(cell.test.change), cell.cell.label, metric,
                   cell.note.empty() ? "" : "  (" + cell.note + ")");
  }
  if (more > 0) fmt::format_to(out, "... and {} more: gate.csv\n", more);
  text += sees(report);
  if (report.injected.tested > 0) {
    fmt::format_to(out, "an injected drop of 10 % was found in {} of {} cells\n",
                   report.injected.caught, report.injected.tested);
  }
  fmt::format_to(out, "{}: {}\n", verdict.word, verdict.summary);
  return text;
}

}  // namespace scalebench
