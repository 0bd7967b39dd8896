// SPDX-License-Identifier: Apache-2.0
// The nightly gate: what tonight's cells say against the nights before, and against the accepted
// build where that ran beside them; one verdict a cell. Values in, values out: what is printed,
// written and exited with follows from here.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/nightly/history.hpp"
#include "bench/study/nightly/memory.hpp"

namespace scalebench {

enum class GateVerdict {
  ok,
  regressed,  // worse tonight, and again in the rerun
  confirmed,  // worse in 2 of 3 nights
  open,       // found in an earlier night, and neither accepted nor measured away
  improved,
  ambiguous,     // worse tonight, not (or not yet) found again
  drift,         // worse by little steps, or than the pinned run
  unjudged,      // all cells together were elsewhere: nothing is said of one
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
  std::optional<BesideNight> beside{};  // none: no accepted build, or it could not run
};

/// Where and since when it is slower, for people and for the nights to come.
struct OpenRegression {
  std::string key = "*";  // of the cell; "*": all cells together
  std::string label;
  std::string since_run, since_utc;
  std::string last_good_run;            // empty: not known
  std::string good_commit, bad_commit;  // it came between these; empty: not known
  double found_change = kNotMeasured;   // relative, as found
  double change = kNotMeasured;         // tonight's, with its 95 % interval; NaN: not judged
  double low = kNotMeasured;
  double high = kNotMeasured;
  std::size_t rounds = 0;     // beside the accepted build; 0: against the nights before it
  bool accepted_too = false;  // of the accepted build's own cell: no commit, but what it runs on
};

struct GateCell {
  NightCell cell;  // tonight's; of its last night when missing
  GateVerdict verdict = GateVerdict::ok;
  std::string note;
  CellTest test;
  CellBaseline baseline;
  Sensitivity sensitivity;
  double before = kNotMeasured;         // seconds or efficiency that tonight's is held against
  double as_measured = kNotMeasured;    // relative change from `before`, nothing taken out
  double pinned_change = kNotMeasured;  // against the pinned run, host shift and all
  Drift drift;
  std::string drift_since_run;
  std::string open_since_run, last_good_run;  // of an open regression; else empty
  std::vector<double> values;  // of each night of GateReport::nights; NaN: not measured
  std::vector<int> segments;
  std::set<std::size_t> in_baseline;  // places in `values`

  /// Tonight's value was judged, and its sensitivity is known.
  bool tested() const;
};

struct GateReport {
  std::vector<std::string> nights;  // run ids, oldest first, tonight last
  std::vector<std::string> started_utc;
  std::vector<GateCell> cells;
  /// All cells together first; then in the order of the cells; then the accepted build's own.
  std::vector<OpenRegression> open;
  /// Keys of the accepted build's cells that are worse than on its nights before, and that no rerun
  /// has answered for.
  std::set<std::string> accepted_suspects;
  std::vector<std::string> baseline_runs;
  Shift common;             // of all cells against the nights before
  bool controlled = false;  // `common` is that of the accepted build: the host's alone
  bool host_alarm = false;
  Drift host_drift;                          // of all cells together
  double rerun_shift = kNotMeasured;         // `common` in the rerun
  Shift suite;                               // of all cells beside the accepted build
  std::string accepted_run, accepted_build;  // that ran beside tonight's; empty: none
  bool overlaps = true;           // false: nights before, and not one cell in common with them
  std::optional<double> jaccard;  // of tonight's worse cells and last night's; none: both empty
  std::string rerun_run;          // empty: none

  std::size_t count(GateVerdict verdict) const;
  std::size_t expected() const { return cells.size() - count(GateVerdict::skipped); }
  std::size_t tested() const;
  /// Of the tested cells those that would not show a drop of kToBeSeen.
  std::vector<const GateCell*> unseeing() const;
  /// What is to be measured again: cells that are worse tonight; where all are, the shortest of
  /// those that tell the shift; and what is slower in the accepted build. None once that was done.
  std::vector<const GateCell*> suspects() const;
  /// All cells together are slower beside the accepted build: not the host, but the commits.
  bool suite_alarm() const { return suite.alarm() && suite.value < 0; }
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

/// What makes the exit code of a night other than 0, of: regression incomplete ambiguous
/// suspect.
struct FailOn {
  std::set<std::string, std::less<>> states{"regression", "incomplete"};
};

/// Cells that a launch set slowed on purpose was to show, and those that became suspects; nobody
/// measures them again.
struct Canary {
  std::size_t cells = 0;
  std::size_t caught = 0;
  double expected = 0;             // of `caught`, by the cells' own sensitivity to what was put in
  double drop = kNotMeasured;      // that was put in, relative, as measured: the cells' median
  double drop_low = kNotMeasured;  // the cells' least and most
  double drop_high = kNotMeasured;
  std::size_t beyond = 0;  // cells left out: slowed by more than the canary may
  std::string why_not{};   // not empty: it says nothing, for this reason
  std::string run{};       // that measured it

  /// "12 to 17 %": of `drop`; empty where it is not known.
  std::string range() const;
};

/// What happened in a night beside its numbers.
struct NightEvents {
  std::size_t failed_launches = 0;  // starts of programs that ended otherwise than well
  bool partial = false;             // the sweep was not measured to its end
  std::vector<std::string> changed_libraries{};  // since the build beside was accepted; paths
  std::string aa{};  // how the same build differed from itself, when beyond its limit
  std::optional<Canary> canary{};
  bool suspect = false;  // a host is named
};

struct NightVerdict {
  // PASS, REGRESSED, HOST SHIFT, INCOMPLETE, NOTHING MEASURED, INSUFFICIENT, BLIND, SUSPECT
  std::string word;
  std::string summary;
  std::vector<std::string> states;  // all that hold: regression, incomplete, ambiguous, blind, ...
  int exit_code = 0;
};

NightVerdict verdict_of(const GateReport& report, const NightEvents& events, const FailOn& fail_on);

// A night for a terminal: the verdict, then the cells that need a look.

std::string nightly_table(const GateReport& report, const NightVerdict& verdict,
                          const std::optional<Canary>& canary = {});

}  // namespace scalebench
