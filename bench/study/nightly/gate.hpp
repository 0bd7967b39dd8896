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

// From nights of cells to the series that the gate tests: cells in order of their first appearance
// tonight, then those that only earlier nights have.

struct GateTable {
  GateSeriesSet set;
  std::vector<const NightCell*> last;     // of each series: tonight's cell, else the latest before
  std::vector<const NightCell*> tonight;  // null: not there tonight
};

/// Pointers are into `input`, which must outlive them.
GateTable gate_table(const GateInput& input);

/// How many accepted changes of this cell lie at or before a night.
int segment_of(const GateInput& input, const NightCell& cell, const Night& night);

/// The shift of the host during the rerun of `night`, from the cells that were no suspects;
/// kNotMeasured when too few tell.
double shift_of_rerun(const GateSeriesSet& set, const NightBaseline& baseline,
                      const NightTest& test, std::size_t night);

/// "+1.3 %" of a relative change; "-" where it is not known.
std::string change_text(double relative);

}  // namespace scalebench
