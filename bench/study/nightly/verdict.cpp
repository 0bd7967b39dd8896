// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "bench/cli/quantity.hpp"
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
    case GateVerdict::unjudged:
      return "skipped";
    default:
      return "ok";
  }
}

/// From what needs a look to what does not.
std::size_t order_of(GateVerdict verdict) {
  constexpr std::array kOrder{
      GateVerdict::confirmed, GateVerdict::regressed,    GateVerdict::open,
      GateVerdict::drift,     GateVerdict::invalid,      GateVerdict::missing,
      GateVerdict::ambiguous, GateVerdict::improved,     GateVerdict::unjudged,
      GateVerdict::ok,        GateVerdict::insufficient, GateVerdict::skipped,
      GateVerdict::excluded};
  return static_cast<std::size_t>(std::ranges::find(kOrder, verdict) - kOrder.begin());
}

void set_cell(ResultRow& row, const NightCell& cell, const std::string& run_id) {
  row.set("run_id", run_id).set("case_id", cell.case_id);
  row.set("origin", cell.origin).set("bench", cell.bench).set("label", cell.label);
  row.set("ranks", cell.ranks).set("metric", cell.metric);
}

/// What a verdict rests on; empty where nothing was tested.
std::string_view basis_of(const CellTest& test) {
  if (test.signal == Signal::untested || test.signal == Signal::shifted) return "";
  return test.rounds > 0 ? "beside" : "history";
}

ResultRow row_of(const GateCell& cell, const GateReport& report) {
  ResultRow row(gate_schema());
  set_cell(row, cell.cell, report.nights.back());
  row.set("status", status_of(cell)).set("note", cell.note).set("family", cell.cell.family);
  row.set("verdict", name_of(cell.verdict)).set("basis", basis_of(cell.test));
  row.set("nights", cell.baseline.nights);
  if (cell.test.rounds > 0) row.set("rounds", cell.test.rounds);
  const bool there = cell.verdict != GateVerdict::missing;
  row.set("launches", there ? cell.cell.launches.size() : 0);
  row.set("before", cell.before).set("after", cell.values.back());
  row.set("as_measured", cell.as_measured).set("floor", cell.cell.floor);
  row.set("pinned_change", cell.pinned_change);
  row.set("open_since_run", cell.open_since_run).set("last_good_run", cell.last_good_run);
  const CellTest& test = cell.test;
  // Beside a shift of all cells what is left of one is no finding.
  if (test.signal == Signal::shifted) return row;
  const bool worse = !(test.score >= 0);
  row.set("change", test.change).set("change_low", test.change_low);
  row.set("change_high", test.change_high).set("score", test.score);
  row.set("p_value", worse ? test.p_worse : test.p_better);
  row.set("q_value", worse ? test.q_worse : test.q_better);
  row.set("critical_drop", cell.sensitivity.critical_drop).set("mde", cell.sensitivity.mde);
  if (const auto& needed = cell.sensitivity.launches_needed) row.set("launches_needed", *needed);
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

/// Suspects without an answer: never measured again, or in another state of the host.
std::size_t unanswered(const GateReport& report) {
  return static_cast<std::size_t>(std::ranges::count_if(report.cells, [](const GateCell& cell) {
    return cell.verdict == GateVerdict::ambiguous && cell.test.rerun != Agreement::disagrees;
  }));
}

/// "3 regressed, 1 missing of 40 cells"; what is not there is not named.
std::string counts_of(const GateReport& report) {
  std::vector<std::string> parts;
  constexpr std::pair<GateVerdict, std::string_view> kNamed[] = {
      {GateVerdict::confirmed, "confirmed regressions"},
      {GateVerdict::regressed, "regressed"},
      {GateVerdict::open, "open"},
      {GateVerdict::drift, "drifting"},
      {GateVerdict::ambiguous, "ambiguous"},
      {GateVerdict::unjudged, "not judged"},
      {GateVerdict::missing, "missing"},
      {GateVerdict::invalid, "invalid"},
      {GateVerdict::improved, "improved"},
      {GateVerdict::insufficient, "without enough nights"}};
  for (const auto& [verdict, what] : kNamed) {
    if (const std::size_t count = report.count(verdict); count > 0) {
      parts.push_back(fmt::format("{} {}", count, what));
    }
  }
  std::string text =
      fmt::format("{} of {} expected cells tested", report.tested(), report.expected());
  if (!parts.empty()) text += fmt::format(": {}", fmt::join(parts, ", "));
  return text;
}

std::string with_interval(const Shift& shift) {
  return fmt::format("{} [{:+.1f}, {}]", change_text(std::expm1(shift.value)),
                     100 * std::expm1(shift.low), change_text(std::expm1(shift.high)));
}

/// What has changed under both builds since one was accepted, by name; empty: nothing that is
/// known. The step "beside" and nightly.json have all of them with their paths.
std::string changed_under(const NightEvents& events) {
  constexpr std::size_t kMostNames = 3;
  const std::vector<std::string>& paths = events.changed_libraries;
  if (paths.empty()) return "";
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    if (names.size() < kMostNames) names.push_back(path.substr(path.rfind('/') + 1));
  }
  const std::size_t more = paths.size() - names.size();
  return fmt::format("; libraries that have changed since it was accepted: {}{}",
                     fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

/// Who moved: the accepted build's cells can only show what it runs on.
std::string host_sentence(const GateReport& report, const NightEvents& events) {
  const char* const who = report.controlled ? "the accepted build" : "all cells together";
  const std::string what =
      report.controlled
          ? events.changed_libraries.empty() ? "the host" : "the host or its libraries"
          : "the host or something that all cells share, a commit too";
  std::string text;
  if (report.common.alarm()) {
    text = fmt::format("{} {}: {}", who, with_interval(report.common), what);
  } else if (report.host_drift.found) {
    text = fmt::format("{} drifted {}: {}", who, change_text(report.host_drift.change), what);
  } else {
    text = fmt::format("{} shifted earlier and not clearly back: {}", who, what);
  }
  const bool open = !report.open.empty() && report.open.front().key == "*" &&
                    report.open.front().since_run != report.nights.back();
  if (open) text += ", since " + report.open.front().since_run;
  const double again = report.rerun_shift;
  if (report.common.alarm() && !std::isnan(again)) {
    const bool same = std::abs(std::expm1(again - report.common.value)) <= kHostAlarm;
    text += fmt::format("; {} in the rerun{}", change_text(std::expm1(again)),
                        same ? "" : ": another state, so nothing was confirmed by it");
  }
  return text + changed_under(events) + ". ";
}

std::string cells_text(std::size_t count) {
  return fmt::format("{} cell{}", count, count == 1 ? "" : "s");
}

bool is_of_accepted(const OpenRegression& open) { return open.accepted_too; }

/// Which of its own cells the accepted build is slower in than it was; empty: none.
std::string accepted_sentence(const GateReport& report, const NightEvents& events) {
  std::string text;
  const auto found = std::ranges::count_if(report.open, is_of_accepted);
  double most = 0;
  for (const OpenRegression& open : report.open) {
    if (!open.accepted_too) continue;
    most = std::min(most, std::isnan(open.change) ? open.found_change : open.change);
  }
  if (found > 0) {
    text = fmt::format(
        "{} slower in the accepted build too, by {} at most: the machine or its libraries",
        cells_text(static_cast<std::size_t>(found)), change_text(most));
  }
  if (const std::size_t suspects = report.accepted_suspects.size(); suspects > 0) {
    text += fmt::format("{}{} slower in the accepted build too, which no rerun has confirmed{}",
                        found > 0 ? "; " : "", cells_text(suspects),
                        found > 0 ? "" : ": if so, the machine or its libraries");
  }
  return text.empty() ? text : text + changed_under(events) + ". ";
}

bool fewer_than_half(std::size_t part, std::size_t all) { return 2 * part < all; }

std::string sentence_of(const Canary& canary) {
  const std::string range = canary.range();
  return fmt::format(
      "a slow-down{} on purpose made suspects, without a rerun, of {} of its {} cells, expected "
      "{:.1f}",
      range.empty() ? "" : " of " + range, canary.caught, canary.cells, canary.expected);
}

/// Why the night's silence would mean nothing; empty when it does.
std::string blindness(const GateReport& report, const NightEvents& events) {
  std::vector<std::string> why;
  const std::size_t tested = report.tested(), unseeing = report.unseeing().size();
  if (fewer_than_half(tested - unseeing, tested)) {
    why.push_back(fmt::format("{} of {} tested cells would not show a drop of {:.0f} %", unseeing,
                              tested, 100 * kToBeSeen));
  }
  if (events.canary && !events.canary->why_not.empty()) {
    why.push_back("the slow-down on purpose says nothing: " + events.canary->why_not);
  } else if (events.canary && fewer_than_half(events.canary->caught, events.canary->cells)) {
    why.push_back(sentence_of(*events.canary));
  }
  if (!events.aa.empty()) why.push_back("the same build beside itself: " + events.aa);
  return fmt::format("{}", fmt::join(why, "; "));
}

}  // namespace

std::string Canary::range() const {
  if (std::isnan(drop_low)) return "";
  const std::string low = fmt::format("{:.0f}", 100 * drop_low);
  const std::string high = fmt::format("{:.0f}", 100 * drop_high);
  return low == high ? low + " %" : fmt::format("{} to {} %", low, high);
}

NightVerdict verdict_of(const GateReport& report, const NightEvents& events,
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
  // A regression that is open is one also on a night that cannot judge its cell.
  const auto open_cells =
      static_cast<std::size_t>(std::ranges::count_if(report.open, [](const OpenRegression& open) {
        return open.key != "*" && !open.accepted_too;
      }));
  const bool slower =
      open_cells > 0 || report.count(GateVerdict::drift) > 0 || report.suite_alarm();
  // A suspect that nobody measured again leaves the night without its answer.
  const std::size_t lacking = report.count(GateVerdict::missing) +
                              report.count(GateVerdict::invalid) + events.failed_launches +
                              unanswered(report) + report.accepted_suspects.size();
  const bool accepted_too = std::ranges::any_of(report.open, is_of_accepted);
  const bool regression = holds("regression", slower || report.host_alarm || accepted_too);
  holds("open", report.count(GateVerdict::open) > 0);
  holds("host shift", report.host_alarm);
  holds("accepted build slower", accepted_too);
  const std::string unseen = blindness(report, events);
  const bool blind = holds("blind", !unseen.empty());
  const bool incomplete = holds("incomplete", lacking > 0 || events.partial);
  const bool ambiguous = holds("ambiguous", report.count(GateVerdict::ambiguous) > 0);
  const bool suspect = holds("suspect", events.suspect) && fails("suspect");
  const bool insufficient = holds("insufficient", report.tested() == 0);

  const bool unfinished = incomplete || (ambiguous && fails("ambiguous"));
  verdict.word = slower         ? "REGRESSED"
                 : regression   ? "HOST SHIFT"
                 : blind        ? "BLIND"
                 : unfinished   ? "INCOMPLETE"
                 : suspect      ? "SUSPECT"
                 : insufficient ? "INSUFFICIENT"
                                : "PASS";
  const bool cannot_tell =
      blind || (incomplete && fails("incomplete")) || (ambiguous && fails("ambiguous"));
  if ((regression && fails("regression")) || (suspect && !cannot_tell)) {
    verdict.exit_code = kRegression;
  } else if (cannot_tell) {
    verdict.exit_code = kIncomplete;
  } else {
    verdict.exit_code = kPass;
  }
  if (report.host_alarm) verdict.summary = host_sentence(report, events);
  verdict.summary += accepted_sentence(report, events);
  if (report.suite_alarm()) {
    verdict.summary += fmt::format("all cells together {} beside the accepted build: the commits. ",
                                   with_interval(report.suite));
  }
  verdict.summary += counts_of(report);
  if (events.failed_launches > 0) {
    verdict.summary += fmt::format("; {} launch{} failed", events.failed_launches,
                                   events.failed_launches == 1 ? "" : "es");
  }
  if (const std::size_t open = unanswered(report); open > 0) {
    verdict.summary += fmt::format("; {} suspects have no answer of a rerun", open);
  }
  if (events.partial) verdict.summary += "; interrupted before its end";
  if (blind) verdict.summary += "; " + unseen;
  return verdict;
}

namespace {

constexpr std::size_t kMostLines = 40;

bool needs_a_look(const GateCell& cell) {
  return cell.verdict != GateVerdict::ok && cell.verdict != GateVerdict::insufficient &&
         cell.verdict != GateVerdict::skipped && cell.verdict != GateVerdict::excluded &&
         cell.verdict != GateVerdict::unjudged && cell.verdict != GateVerdict::open;
}

/// "1.02 ms -> 1.11 ms": what it is held against, and tonight's.
std::string absolute_change(const GateCell& cell) {
  const auto show = [&](double value) {
    if (cell.cell.is_time()) return show_time(value);
    return std::isnan(value) ? std::string("-") : percent(value);
  };
  return show(cell.before) + " -> " + show(cell.values.back());
}

std::string short_name(const std::string& commit) {
  return commit.empty() ? "unknown" : commit.substr(0, 12);
}

/// The median over cells of the smallest drop that tonight would have shown, and the cells that
/// would not have shown one of kToBeSeen.
std::string sees(const GateReport& report) {
  std::vector<double> drops;
  for (const GateCell& cell : report.cells) {
    if (!std::isnan(cell.sensitivity.mde)) drops.push_back(cell.sensitivity.mde);
  }
  if (drops.empty()) return "";
  std::ranges::sort(drops);
  std::string text = fmt::format(
      "finds and finds again, four times in five, a drop of {:.1f} % in half of the cells, {:.1f} "
      "% "
      "in all\n",
      100 * drops[drops.size() / 2], 100 * drops.back());
  const std::vector<const GateCell*> unseeing = report.unseeing();
  if (unseeing.empty()) return text;
  std::size_t possible = 0, most = 0;
  for (const GateCell* const cell : unseeing) {
    const auto& needed = cell->sensitivity.launches_needed;
    possible += needed ? 1 : 0;
    most = std::max(most, needed.value_or(0));
  }
  text += fmt::format("{} would not show a drop of {:.0f} %", unseeing.size(), 100 * kToBeSeen);
  if (possible > 0) {
    text += fmt::format("; {} of them with up to {} launches or rounds would", possible, most);
  }
  return text + ": launches_needed in gate.csv\n";
}

}  // namespace

std::string nightly_table(const GateReport& report, const NightVerdict& verdict,
                          const std::optional<Canary>& canary) {
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
    fmt::format_to(out, "{:<10} {:>8}  {:<20}  {}{}{}\n", name_of(cell.verdict),
                   change_text(cell.test.change), absolute_change(cell), cell.cell.label, metric,
                   cell.note.empty() ? "" : "  (" + cell.note + ")");
  }
  if (more > 0) fmt::format_to(out, "... and {} more: gate.csv\n", more);
  lines = 0;
  for (const OpenRegression& open : report.open) {
    if (++lines > kMostLines) break;
    const auto cell =
        std::ranges::find(report.cells, open.key, [](const GateCell& its) { return its.cell.key; });
    const bool there = cell != report.cells.end() && !open.accepted_too;
    const std::string cause = open.accepted_too
                                  ? "the machine or its libraries"
                                  : fmt::format("commits {}..{}", short_name(open.good_commit),
                                                short_name(open.bad_commit));
    fmt::format_to(out, "OPEN       {:>8}  {:<20}  {}  (since {}, {}, {} as found)\n",
                   change_text(open.change), there ? absolute_change(*cell) : "", open.label,
                   open.since_run, cause, change_text(open.found_change));
  }
  if (report.open.size() > kMostLines) {
    fmt::format_to(out, "... and {} more: nightly.json\n", report.open.size() - kMostLines);
  }
  text += sees(report);
  // One that says too little is in the summary.
  const bool told = canary && canary->why_not.empty();
  if (told && !fewer_than_half(canary->caught, canary->cells)) text += sentence_of(*canary) + "\n";
  fmt::format_to(out, "{}: {}\n", verdict.word, verdict.summary);
  return text;
}

}  // namespace scalebench
