// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

/// When a run began: as its manifest says, else as its name does ("20260301T040506Z-...").
std::string start_of(const RunHistory& history, const std::string& run) {
  if (const auto found = history.started.find(run); found != history.started.end()) {
    return found->second;
  }
  if (run.size() < 16 || run[8] != 'T' || run[15] != 'Z') return "";
  return run.substr(0, 4) + "-" + run.substr(4, 2) + "-" + run.substr(6, 2) + "T" +
         run.substr(9, 2) + ":" + run.substr(11, 2) + ":" + run.substr(13, 2) + "Z";
}

void add_values(std::vector<double> GateSeries::*values, const std::vector<NightCell>& cells,
                std::size_t night, const std::unordered_map<std::string, std::size_t>& place_of,
                GateSeriesSet& set) {
  for (const NightCell& cell : cells) {
    const auto found = place_of.find(cell.key);
    if (found != place_of.end()) (set.cells[found->second].*values)[night] = cell.y();
  }
}

/// How many accepted changes of this cell lie at or before a night.
int segment_of(const GateInput& input, const NightCell& cell, const Night& night) {
  int segment = 0;
  for (const Annotation& accepted : input.annotations.accepted) {
    if (!matches(accepted.cells, cell.label, cell.key)) continue;
    const std::string start =
        accepted.run == night.run_id ? night.started_utc : start_of(input.history, accepted.run);
    // What nobody can place in time accepts nothing: an alarm too many, not one too few.
    if (!start.empty() && start <= night.started_utc) ++segment;
  }
  return segment;
}

/// From nights of cells to the series that the gate tests: cells in order of their first appearance
/// tonight, then those that only earlier nights have. Pointers are into the input.
struct GateTable {
  GateSeriesSet set;
  std::vector<const NightCell*> last;     // of each series: tonight's cell, else the latest before
  std::vector<const NightCell*> tonight;  // null: not there tonight
};

GateTable gate_table(const GateInput& input) {
  GateTable table;
  std::vector<const Night*> nights;
  for (const Night& night : input.history.nights) nights.push_back(&night);
  nights.push_back(&input.tonight);

  std::unordered_map<std::string, std::size_t> place_of;
  for (auto night = nights.rbegin(); night != nights.rend(); ++night) {
    for (const NightCell& cell : (*night)->cells) {
      if (!place_of.emplace(cell.key, table.last.size()).second) continue;
      table.last.push_back(&cell);
      table.tonight.push_back(*night == nights.back() ? &cell : nullptr);
    }
  }
  table.set.rerun_shift.assign(nights.size(), kNotMeasured);
  for (const NightCell* const cell : table.last) {
    GateSeries& series = table.set.cells.emplace_back();
    series.family = cell->metric + "/" + cell->family;
    series.floor = cell->floor;
    series.moves_with_host = cell->is_time();
    series.y.assign(nights.size(), kNotMeasured);
    series.rerun.assign(nights.size(), kNotMeasured);
    for (const Night* const night : nights)
      series.segment.push_back(segment_of(input, *cell, *night));
  }
  for (std::size_t k = 0; k < nights.size(); ++k) {
    add_values(&GateSeries::y, nights[k]->cells, k, place_of, table.set);
    const auto rerun = input.history.reruns.find(nights[k]->run_id);
    if (rerun == input.history.reruns.end()) continue;
    add_values(&GateSeries::rerun, rerun->second.cells, k, place_of, table.set);
  }
  if (!input.history.pinned) return table;
  for (const NightCell& cell : input.history.pinned->cells) {
    const auto found = place_of.find(cell.key);
    if (found != place_of.end()) table.set.cells[found->second].pinned = cell.y();
  }
  return table;
}

/// The shift of the host during the rerun of `night`, from the cells that were no suspects;
/// kNotMeasured when too few tell.
double shift_of_rerun(const GateSeriesSet& set, const NightBaseline& baseline,
                      const NightTest& test, std::size_t night) {
  std::vector<double> shifts;
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    const GateSeries& cell = set.cells[c];
    const bool control = cell.moves_with_host && baseline[c].enough &&
                         test.cells[c].signal != Signal::worse && !std::isnan(cell.rerun[night]);
    if (control) shifts.push_back(cell.rerun[night] - baseline[c].level);
  }
  const double shift = median_of(shifts);
  if (shifts.size() >= kFewestForHost) return shift;
  // A few controls are too noisy to correct by, but can tell that the machine was another one.
  const bool clear = shifts.size() >= 2 && std::abs(std::expm1(shift)) > kHostAlarm;
  return clear ? shift : kNotMeasured;
}

/// The test of one night with its rerun, and the baseline that it used.
struct Tested {
  NightBaseline baseline;
  NightTest test;
};

Tested tested(GateSeriesSet& set, std::size_t night) {
  Tested result{baseline_of(set, night), {}};
  result.test = test_night(set, result.baseline, night);
  set.rerun_shift[night] = shift_of_rerun(set, result.baseline, result.test, night);
  if (!std::isnan(set.rerun_shift[night])) result.test = test_night(set, result.baseline, night);
  return result;
}

std::set<std::size_t> worse_cells(const NightTest& test) {
  std::set<std::size_t> worse;
  for (std::size_t c = 0; c < test.cells.size(); ++c) {
    const CellTest& cell = test.cells[c];
    const bool is_worse = cell.signal == Signal::worse && cell.rerun != Agreement::disagrees;
    if (is_worse) worse.insert(c);
  }
  return worse;
}

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
  explicit Gate(const GateInput& input)
      : input_(input), table_(gate_table(input)), night_(table_.set.nights() - 1) {}

  GateReport report() {
    name_nights();
    // Tonight's verdicts ask whether the two nights before said the same.
    for (std::size_t back = 2; back > 0; --back) {
      if (night_ >= back)
        before_.push_back({night_ - back, worse_cells(tested(set(), night_ - back).test)});
    }
    tonight_ = tested(set(), night_);
    shift_ = host_series(set(), night_);
    drops_ = smallest_drops(set(), tonight_.baseline, tonight_.test);
    report_.test = tonight_.test;
    report_.injected = inject(set(), tonight_.baseline, tonight_.test, drops_, night_);
    for (std::size_t c = 0; c < set().cells.size(); ++c) add_cell(c);
    for (std::vector<std::size_t>* const cells :
         {&report_.injected.blind, &report_.injected.broken}) {
      for (std::size_t& cell : *cells) cell = place_of_.at(cell);
    }
    GateSeries host;
    host.moves_with_host = false;
    host.y = shift_;
    host.segment.assign(shift_.size(), 0);
    report_.host_drift = drift_of(host, night_, shift_);
    if (!before_.empty()) {
      report_.jaccard = jaccard(worse_cells(tonight_.test), before_.back().second);
    }
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
    // Measured tonight and in any night before, in whatever segment.
    bool common = false, earlier = false;
    for (const GateSeries& cell : set().cells) {
      const bool seen =
          std::any_of(cell.y.begin(), cell.y.end() - 1, [](double y) { return !std::isnan(y); });
      earlier = earlier || seen;
      common = common || (seen && !std::isnan(cell.y.back()));
    }
    report_.overlaps = common || !earlier;
  }

  void add_cell(std::size_t c) {
    const GateSeries& series = set().cells[c];
    // The last of tonight's segment.
    const auto nights = nights_of(series, night_, kBaselineNights, series.segment[night_]);
    const bool was_measured = !nights.empty();
    // A cell that is gone, or void, and that an accepted change took away is nothing to report.
    if (table_.tonight[c] == nullptr && !was_measured) return;
    place_of_[c] = report_.cells.size();
    GateCell& cell = report_.cells.emplace_back();
    cell.cell = *table_.last[c];
    cell.test = tonight_.test.cells[c];
    cell.baseline = tonight_.baseline[c];
    cell.smallest_drop = drops_[c];
    cell.segments = series.segment;
    cell.in_baseline = {nights.begin(), nights.end()};
    for (const double y : series.y) {
      cell.values.push_back(std::exp(series.moves_with_host ? -y : y));
    }
    if (!std::isnan(series.pinned)) {
      cell.pinned_value = std::exp(series.moves_with_host ? -series.pinned : series.pinned);
      cell.pinned_change = std::expm1(series.y[night_] - series.pinned);
    }
    cell.drift = drift_of(series, night_, shift_);
    if (!std::isnan(cell.drift.change)) cell.drift_since_run = report_.nights[cell.drift.since];
    judge(cell, c, was_measured);
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
    } else if (cell.test.signal == Signal::untested) {
      cell.verdict = GateVerdict::insufficient;
      add_note(cell, fmt::format("{} nights to compare with", cell.baseline.nights));
    } else {
      judge_tested(cell, c);
    }
  }

  void judge_tested(GateCell& cell, std::size_t c) {
    if (cell.test.signal == Signal::worse) {
      const std::size_t others = worse_before(c);
      if (others > 0 && (others > 1 || cell.test.rerun != Agreement::disagrees)) {
        cell.verdict = GateVerdict::confirmed;
        add_note(cell, fmt::format("worse in {} of 3 nights", 1 + others));
      } else if (cell.test.rerun == Agreement::agrees) {
        cell.verdict = GateVerdict::regressed;
        add_note(cell, "found again in the rerun");
      } else {
        cell.verdict = GateVerdict::ambiguous;
        add_note(cell, cell.test.rerun == Agreement::disagrees ? "not found again in the rerun"
                                                               : "not measured again");
      }
    } else if (cell.test.signal == Signal::better) {
      cell.verdict = GateVerdict::improved;
    } else if (cell.drift.found) {
      cell.verdict = GateVerdict::drift;
      add_note(cell,
               fmt::format("{} since {}", change_text(cell.drift.change), cell.drift_since_run));
    } else if (below_pinned(cell, c)) {
      cell.verdict = GateVerdict::drift;
      add_note(cell, fmt::format("{} against the pinned run", change_text(cell.pinned_change)));
    }
    if (!cell.cell.is_time() && cell.verdict != GateVerdict::ok) explain_efficiency(cell);
  }

  /// In how many of the two nights before, of the same segment, this cell was worse.
  std::size_t worse_before(std::size_t c) const {
    const std::vector<int>& segment = table_.set.cells[c].segment;
    return static_cast<std::size_t>(std::ranges::count_if(before_, [&](const auto& night) {
      return night.second.contains(c) && segment[night.first] == segment[night_];
    }));
  }

  /// The level of the baseline and tonight, both clearly below the pinned run: what a rolling
  /// baseline has got used to.
  bool below_pinned(const GateCell& cell, std::size_t c) {
    const GateSeries& series = set().cells[c];
    if (std::isnan(series.pinned) || !input_.history.pinned) return false;
    // An accepted change between them explains it.
    const int pinned = segment_of(input_, cell.cell, *input_.history.pinned);
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
  std::size_t night_;
  Tested tonight_;
  std::vector<std::pair<std::size_t, std::set<std::size_t>>> before_;  // oldest first
  std::vector<double> shift_;
  std::vector<double> drops_;
  std::map<std::size_t, std::size_t> place_of_;  // of a series among the report's cells
  GateReport report_;
};

}  // namespace

std::string_view name_of(GateVerdict verdict) {
  constexpr std::array<std::string_view, 11> kNames{
      "OK",      "REGRESSED", "CONFIRMED",    "IMPROVED", "AMBIGUOUS", "DRIFT",
      "MISSING", "INVALID",   "INSUFFICIENT", "SKIPPED",  "EXCLUDED"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

std::size_t GateReport::count(GateVerdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count(cells, verdict, &GateCell::verdict));
}

std::size_t GateReport::tested() const {
  return static_cast<std::size_t>(std::ranges::count_if(cells, [](const GateCell& cell) {
    return cell.test.signal != Signal::untested && cell.verdict != GateVerdict::excluded;
  }));
}

std::vector<const GateCell*> GateReport::suspects() const {
  std::vector<const GateCell*> found;
  for (const GateCell& cell : cells) {
    const bool open = cell.test.signal == Signal::worse && cell.test.rerun == Agreement::unknown &&
                      cell.verdict != GateVerdict::excluded;
    if (open) found.push_back(&cell);
  }
  return found;
}

GateReport gate(const GateInput& input) { return Gate(input).report(); }

std::string change_text(double relative) {
  return std::isnan(relative) ? "-" : fmt::format("{:+.1f} %", 100 * relative);
}

}  // namespace scalebench
