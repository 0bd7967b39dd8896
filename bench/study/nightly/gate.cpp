// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/measure/statistics.hpp"
#include "bench/record/run_name.hpp"
#include "bench/study/nightly/table.hpp"

namespace scalebench {
namespace {

std::optional<double> jaccard(const std::set<std::size_t>& a, const std::set<std::size_t>& b) {
  std::set<std::size_t> both;
  std::ranges::set_intersection(a, b, std::inserter(both, both.end()));
  const std::size_t either = a.size() + b.size() - both.size();
  if (either == 0) return std::nullopt;
  return static_cast<double>(both.size()) / static_cast<double>(either);
}

/// The gate's state while it goes over the cells.
class Gate {
 public:
  explicit Gate(const GateInput& input) : input_(input), table_(gate_table(input)) {}

  GateReport report() {
    night_ = table_.set.nights - 1;
    name_nights();
    NightMemory memory(table_.set, table_.controls, std::move(table_.remembered));
    std::set<std::size_t> worse_before;
    for (std::size_t k = 0; k < night_; ++k) worse_before = memory.next().worse;
    tonight_ = memory.next();
    table_.set = memory.set();
    sensitivities_ = sensitivities(set(), tonight_.test);
    report_.common = tonight_.test.common;
    report_.controlled = tonight_.controlled;
    report_.host_alarm = tonight_.host_alarm;
    report_.host_drift = tonight_.host_drift;
    report_.rerun_shift = tonight_.test.rerun_shift;
    report_.suite = tonight_.test.suite;
    if (tonight_.host) report_.open.push_back(shared_by_all(*tonight_.host));
    for (std::size_t c = 0; c < set().cells.size(); ++c) add_cell(c);
    judge_accepted();
    if (night_ > 0) report_.jaccard = jaccard(tonight_.worse, worse_before);
    std::set<std::size_t> runs;
    for (const GateCell& cell : report_.cells) {
      runs.insert(cell.in_baseline.begin(), cell.in_baseline.end());
    }
    for (const std::size_t k : runs) report_.baseline_runs.push_back(report_.nights[k]);
    return std::move(report_);
  }

 private:
  GateSeriesSet& set() { return table_.set; }

  void name_nights() {
    for (const Night& night : input_.history.nights) {
      report_.nights.push_back(night.run_id);
      report_.started_utc.push_back(night.started_utc);
    }
    report_.nights.push_back(input_.tonight.run_id);
    report_.started_utc.push_back(input_.tonight.started_utc);
    if (input_.history.reruns.contains(input_.tonight.run_id)) {
      report_.rerun_run = rerun_name(input_.tonight.run_id);
    }
    if (input_.beside) {
      report_.accepted_run = input_.beside->run_id;
      report_.accepted_build = input_.beside->build;
    }
    // Measured tonight and in any night before, in whatever segment, or beside tonight.
    bool common = false, earlier = false;
    for (const GateSeries& cell : set().cells) {
      const bool seen =
          !cell.beside.back().sweep.empty() ||
          std::any_of(cell.y.begin(), cell.y.end() - 1, [](double y) { return !std::isnan(y); });
      earlier = earlier || seen;
      common = common || (seen && !std::isnan(cell.y.back()));
    }
    report_.overlaps = common || !earlier;
  }

  const Night& night_at(std::size_t k) const {
    return k == night_ ? input_.tonight : input_.history.nights[k];
  }

  OpenRegression regression(const OpenAlarm& alarm, const std::string& key,
                            bool accepted_too = false) const {
    OpenRegression open;
    open.key = key;
    open.accepted_too = accepted_too;
    open.found_change = std::expm1(alarm.change);
    const Night& since = night_at(alarm.since);
    open.since_run = since.run_id;
    open.since_utc = since.started_utc;
    // Older than the nights that are there: its record knows since when.
    for (const OpenBefore& before : input_.history.open) {
      if (before.key != key || before.accepted_too != accepted_too) continue;
      if (before.since_utc >= since.started_utc) continue;
      open.since_run = before.since_run;
      open.since_utc = before.since_utc;
    }
    if (!accepted_too) open.bad_commit = since.commit;
    if (!alarm.last_good) return open;
    open.last_good_run = night_at(*alarm.last_good).run_id;
    if (!accepted_too) open.good_commit = night_at(*alarm.last_good).commit;
    return open;
  }

  OpenRegression shared_by_all(const OpenAlarm& alarm) const {
    OpenRegression open = regression(alarm, "*");
    open.label = "all cells together";
    if (report_.common.cells == 0) return open;
    open.change = std::expm1(report_.common.value);
    open.low = std::expm1(report_.common.low);
    open.high = std::expm1(report_.common.high);
    return open;
  }

  /// The accepted build's own cells against its own nights before, as if they were under test: what
  /// is slower there no commit has made so, and beside it nothing shows.
  void judge_accepted() {
    const std::vector<const NightCell*>& cells = table_.control_cells;
    if (cells.empty()) return;
    NightMemory memory(table_.controls, GateSeriesSet(table_.controls.nights),
                       std::move(table_.remembered_controls));
    const JudgedNight& tonight = memory.last();
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const CellTest& test = tonight.test.cells[c];
      const bool unanswered =
          test.rerun == Agreement::unknown || test.rerun == Agreement::discarded;
      if (tonight.open[c]) {
        OpenRegression open = regression(*tonight.open[c], cells[c]->key, /*accepted_too=*/true);
        open.label = cells[c]->label + ", in the accepted build too";
        set_change(open, test);
        report_.open.push_back(std::move(open));
      } else if (test.signal == Signal::worse && unanswered) {
        report_.accepted_suspects.insert(cells[c]->key);
      }
    }
  }

  void add_cell(std::size_t c) {
    const GateSeries& series = set().cells[c];
    // The last of tonight's segment.
    const auto nights = nights_of(series, night_, kBaselineNights, series.segment[night_]);
    const bool open = tonight_.open[c].has_value();
    bool was_measured = open;
    for (std::size_t k = 0; k < night_; ++k) {
      was_measured =
          was_measured || (series.segment[k] == series.segment[night_] && !std::isnan(series.y[k]));
    }
    // A cell that is gone, or void, and that an accepted change took away is nothing to report.
    if (table_.tonight[c] == nullptr && !was_measured) return;
    GateCell& cell = report_.cells.emplace_back();
    cell.cell = *table_.last[c];
    cell.test = tonight_.test.cells[c];
    cell.baseline = tonight_.baseline[c];
    cell.sensitivity = sensitivities_[c];
    cell.segments = series.segment;
    cell.in_baseline = {nights.begin(), nights.end()};
    for (const double y : series.y) cell.values.push_back(value_of(series, y));
    set_before(cell, series);
    if (!std::isnan(series.pinned)) {
      cell.pinned_change = std::expm1(series.y[night_] - series.pinned);
    }
    cell.drift = tonight_.drifts[c];
    if (!std::isnan(cell.drift.change)) cell.drift_since_run = report_.nights[cell.drift.since];
    if (open) add_open(cell, *tonight_.open[c]);
    judge(cell, c, was_measured);
  }

  static double value_of(const GateSeries& series, double y) {
    return std::exp(series.moves_with_host ? -y : y);
  }

  /// What tonight's value is held against: the accepted build's of tonight, or the level.
  void set_before(GateCell& cell, const GateSeries& series) {
    double y = cell.baseline.level;
    if (cell.test.rounds > 0) {
      y = kNotMeasured;
      for (const NightCell& accepted : input_.beside->accepted.cells) {
        if (accepted.key == cell.cell.key) y = accepted.y();
      }
    }
    cell.before = value_of(series, y);
    cell.as_measured = std::expm1(series.y[night_] - y);
  }

  void add_open(GateCell& cell, const OpenAlarm& alarm) {
    OpenRegression open = regression(alarm, cell.cell.key);
    open.label = cell.cell.label + (cell.cell.is_time() ? "" : " " + cell.cell.metric);
    set_change(open, cell.test);
    cell.open_since_run = open.since_run;
    cell.last_good_run = open.last_good_run;
    report_.open.push_back(std::move(open));
  }

  static void set_change(OpenRegression& open, const CellTest& test) {
    if (test.signal == Signal::untested || test.signal == Signal::shifted) return;
    open.change = test.change;
    open.low = test.change_low;
    open.high = test.change_high;
    open.rounds = test.rounds;
  }

  void judge(GateCell& cell, std::size_t c, bool was_measured) {
    const NightCell* const tonight = table_.tonight[c];
    cell.note = tonight != nullptr ? tonight->note : "";
    if (const auto* const excluded = input_.annotations.excluded_run(input_.tonight.run_id)) {
      cell.verdict = GateVerdict::excluded;
      cell.note = excluded->reason;
    } else if (tonight == nullptr) {
      cell.verdict = GateVerdict::missing;
      cell.note = "measured before, not tonight";
    } else if (tonight->status == "skipped") {
      cell.verdict = was_measured ? GateVerdict::missing : GateVerdict::skipped;
      if (was_measured) cell.note = "measured before, skipped tonight: " + cell.note;
    } else if (std::isnan(set().cells[c].y[night_])) {
      cell.verdict = GateVerdict::invalid;
      if (cell.note.empty()) cell.note = tonight->status;
    } else if (tonight_.outcomes[c] != Discovery::none) {
      judge_found(cell, c);
    } else if (tonight_.open[c]) {
      cell.verdict = GateVerdict::open;
      add_note(cell, "open since " + cell.open_since_run);
    } else if (cell.test.signal == Signal::shifted) {
      cell.verdict = GateVerdict::unjudged;
      add_note(cell, "all cells together have shifted");
    } else if (cell.test.signal == Signal::untested) {
      cell.verdict = GateVerdict::insufficient;
      add_note(cell, fmt::format("{} nights to compare with", cell.baseline.nights));
    } else {
      judge_tested(cell, c);
    }
    const bool told = cell.test.signal != Signal::untested && cell.verdict != GateVerdict::ok;
    if (!cell.cell.is_time() && told) explain_efficiency(cell);
  }

  void judge_found(GateCell& cell, std::size_t c) {
    switch (tonight_.outcomes[c]) {
      case Discovery::regressed:
        cell.verdict = GateVerdict::regressed;
        add_note(cell, "found again in the rerun");
        break;
      case Discovery::confirmed:
        cell.verdict = GateVerdict::confirmed;
        add_note(cell, fmt::format("worse in {} of 3 nights", tonight_.worse_nights[c]));
        break;
      case Discovery::drift:
        cell.verdict = GateVerdict::drift;
        add_note(cell,
                 fmt::format("{} since {}", change_text(cell.drift.change), cell.drift_since_run));
        break;
      default:
        cell.verdict = GateVerdict::open;
        add_note(cell, "open since " + cell.open_since_run);
    }
  }

  void judge_tested(GateCell& cell, std::size_t c) {
    if (cell.test.signal == Signal::worse) {
      cell.verdict = GateVerdict::ambiguous;
      switch (cell.test.rerun) {
        case Agreement::disagrees:
          add_note(cell, "not found again in the rerun");
          break;
        case Agreement::discarded:
          add_note(cell, fmt::format(
                             "the rerun was discarded: the host had moved by {} until then",
                             change_text(std::expm1(report_.rerun_shift - report_.common.value))));
          break;
        default:
          add_note(cell, "not measured again");
      }
    } else if (cell.test.signal == Signal::better && cell.as_measured > 0) {
      // What took as long as the value beside it, or longer, is no improvement: however slow the
      // rest was, and whatever was accepted of it since.
      cell.verdict = GateVerdict::improved;
    } else if (below_pinned(cell, c)) {
      cell.verdict = GateVerdict::drift;
      add_note(cell, fmt::format("{} against the pinned run", change_text(cell.pinned_change)));
    }
  }

  /// The level of the baseline and tonight, both clearly below the pinned run: what a rolling
  /// baseline has got used to.
  bool below_pinned(const GateCell& cell, std::size_t c) {
    const GateSeries& series = set().cells[c];
    if (std::isnan(series.pinned) || !input_.history.pinned || !cell.baseline.enough) return false;
    // An accepted change between them explains it.
    const int pinned = segment_of(input_, cell.cell, input_.history.pinned->started_utc);
    if (pinned != series.segment[night_]) return false;
    const double below = series.pinned - cell.baseline.level;
    const double p = student_t_tail(below / cell.baseline.width, cell.baseline.df);
    return p < kDriftSignificance && std::expm1(-below) <= -series.floor &&
           cell.pinned_change <= -series.floor;
  }

  /// Whether T(1) or T(N) moved: efficiency rises when T(1) gets worse.
  void explain_efficiency(GateCell& cell) {
    const auto change_of = [&](const std::string& key) -> std::string {
      for (std::size_t i = 0; i < table_.last.size(); ++i) {
        const double change = tonight_.test.cells[i].change;
        if (table_.last[i]->key == key && !std::isnan(change)) return change_text(change);
      }
      return "unknown";
    };
    add_note(cell, fmt::format("speed of T(1) {}, of T({}) {}", change_of(cell.cell.base_key),
                               cell.cell.ranks, change_of(cell.cell.time_key)));
  }

  static void add_note(GateCell& cell, const std::string& text) {
    cell.note += (cell.note.empty() ? "" : "; ") + text;
  }

  const GateInput& input_;
  GateTable table_;
  std::size_t night_ = 0;
  JudgedNight tonight_;
  std::vector<Sensitivity> sensitivities_;
  GateReport report_;
};

}  // namespace

std::string_view name_of(GateVerdict verdict) {
  constexpr std::array<std::string_view, 13> kNames{
      "OK",       "REGRESSED", "CONFIRMED", "OPEN",         "IMPROVED", "AMBIGUOUS", "DRIFT",
      "UNJUDGED", "MISSING",   "INVALID",   "INSUFFICIENT", "SKIPPED",  "EXCLUDED"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

bool GateCell::tested() const {
  // What is open or drifts since an earlier night may be beyond tonight's judgement.
  if (test.signal == Signal::untested || test.signal == Signal::shifted) return false;
  constexpr std::array kTested{GateVerdict::ok,   GateVerdict::regressed, GateVerdict::confirmed,
                               GateVerdict::open, GateVerdict::improved,  GateVerdict::ambiguous,
                               GateVerdict::drift};
  return std::ranges::find(kTested, verdict) != kTested.end();
}

std::size_t GateReport::count(GateVerdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count(cells, verdict, &GateCell::verdict));
}

std::size_t GateReport::tested() const {
  return static_cast<std::size_t>(std::ranges::count_if(cells, &GateCell::tested));
}

std::vector<const GateCell*> GateReport::unseeing() const {
  std::vector<const GateCell*> found;
  for (const GateCell& cell : cells) {
    if (cell.tested() && !cell.sensitivity.sees()) found.push_back(&cell);
  }
  return found;
}

std::vector<const GateCell*> GateReport::suspects() const {
  std::vector<const GateCell*> found, all;
  for (const GateCell& cell : cells) {
    if (cell.verdict == GateVerdict::excluded) continue;
    const bool unasked = cell.test.is_suspect() && cell.test.rerun == Agreement::unknown;
    const bool there_too = rerun_run.empty() && accepted_suspects.contains(cell.cell.key);
    if (unasked || there_too) found.push_back(&cell);
    if (cell.verdict == GateVerdict::unjudged && cell.cell.is_time()) all.push_back(&cell);
  }
  if (all.empty() || !std::isnan(rerun_shift)) return found;
  // A few more than it takes, in case that one fails.
  constexpr std::size_t kEnough = kFewestForHost + 2;
  std::ranges::stable_sort(all, {}, [](const GateCell* cell) { return cell->cell.value; });
  all.resize(std::min(all.size(), kEnough));
  found.insert(found.end(), all.begin(), all.end());
  return found;
}

GateReport gate(const GateInput& input) { return Gate(input).report(); }

std::string change_text(double relative) {
  return std::isnan(relative) ? "-" : fmt::format("{:+.1f} %", 100 * relative);
}

}  // namespace scalebench
