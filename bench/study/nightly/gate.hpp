// SPDX-License-Identifier: Apache-2.0
// The nightly gate: what tonight's cells say against the nights before, one verdict a cell. Values
// in, values out: what is printed, written and exited with follows from here.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/nightly/detection.hpp"
#include "bench/study/nightly/history.hpp"

namespace scalebench {

enum class GateVerdict {
  ok,
  regressed,  // worse tonight, and again in the rerun
  confirmed,  // worse in 2 of 3 nights
  improved,
  ambiguous,     // worse tonight, not (or not yet) found again
  drift,         // worse by little steps, or than the pinned run
  missing,       // expected and not measured
  invalid,       // wrong, failed, or no positive number
  insufficient,  // too few nights to compare with
  skipped,       // this build or machine cannot run it
  excluded,      // tonight's run is, by annotation
};
std::string_view name_of(GateVerdict verdict);

struct GateInput {
  Night tonight;
  RunHistory history;
  Annotations annotations;
};

struct GateCell {
  NightCell cell;  // tonight's; of its last night when missing
  GateVerdict verdict = GateVerdict::ok;
  std::string note;
  CellTest test;
  CellBaseline baseline;
  double smallest_drop = kNotMeasured;
  double pinned_change = kNotMeasured;  // against the pinned run, host shift and all
  double pinned_value = kNotMeasured;
  Drift drift;
  std::string drift_since_run;
  std::vector<double> values;  // of each night of GateReport::nights; NaN: not measured
  std::vector<int> segments;
  std::set<std::size_t> in_baseline;  // places in `values`
};

struct GateReport {
  std::vector<std::string> nights;  // run ids, oldest first, tonight last
  std::vector<std::string> started_utc;
  std::vector<GateCell> cells;
  std::vector<std::string> baseline_runs;
  NightTest test;                 // tonight's, for the common shift
  Drift host_drift;               // of all cells together
  InjectedCheck injected;         // cells by their place in `cells`
  bool overlaps = true;           // false: nights before, and not one cell in common with them
  std::optional<double> jaccard;  // of tonight's worse cells and last night's; none: both empty
  std::string rerun_run;          // empty: none

  std::size_t count(GateVerdict verdict) const;
  std::size_t tested() const;
  /// Cells that are worse tonight and have not been measured again.
  std::vector<const GateCell*> suspects() const;
  bool host_alarm() const { return test.host_alarm() || host_drift.found; }
};

GateReport gate(const GateInput& input);

/// "+1.3 %" of a relative change; "-" where it is not known.
std::string change_text(double relative);

// The findings as rows of gate.csv and history.csv, and for people.

/// One row a cell and metric; worst verdicts first, then in the order of the cells.
std::vector<ResultRow> gate_rows(const GateReport& report);

/// One row a cell, metric and night, of the last nights, oldest first; empty values where a cell
/// was not measured.
std::vector<ResultRow> history_rows(const GateReport& report);

// The whole night in one word, one sentence and one exit code. A night in which nothing was
// measured, or whose gate could not see, is never a pass.

/// What makes the exit code of a night other than 0, of: regression incomplete ambiguous.
struct FailOn {
  std::set<std::string, std::less<>> states{"regression", "incomplete"};
};

struct NightVerdict {
  std::string
      word;  // PASS, REGRESSED, HOST SHIFT, INCOMPLETE, NOTHING MEASURED, INSUFFICIENT, BLIND
  std::string summary;
  std::vector<std::string> states;  // all that hold: regression, incomplete, ambiguous, blind, ...
  int exit_code = 0;
};

/// `failed_launches`: starts of programs tonight that ended otherwise than well. `partial`: the
/// sweep was not measured to its end.
NightVerdict verdict_of(const GateReport& report, std::size_t failed_launches, bool partial,
                        const FailOn& fail_on);

// A night for a terminal: the verdict, then the cells that need a look.

std::string nightly_table(const GateReport& report, const NightVerdict& verdict);

}  // namespace scalebench
