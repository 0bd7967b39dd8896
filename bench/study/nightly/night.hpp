// SPDX-License-Identifier: Apache-2.0
// A night in one word: what its cells say of the build and of the machine, each cell by the worse
// of the two answers. Values in, values out.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/study/analysis/cells.hpp"
#include "bench/study/nightly/rules.hpp"

namespace scalebench {

/// What a night measured, and what it remembers.
struct NightInput {
  std::string origin;
  std::vector<Cell> tonight, accepted;              // the latter where both ran in turns
  std::vector<Cell> tonight_again, accepted_again;  // suspects and controls
  std::vector<ResultRow> history;                   // of history.csv
  bool paired = false;
  std::string why_not;  // not empty: the accepted programs could not run, so nothing is compared
  std::vector<std::string> failed_launches;
  std::string early;  // not empty: why it ended before its end; nothing is judged
};

/// Whether a cell with this word is one to look at: not where it is undecided for no other reason
/// than that the machine is not yet known.
inline bool needs_look(std::string_view word, bool of_machine) {
  return word != "SAME" && !(of_machine && word == "UNDECIDED");
}

struct NightCell {
  std::string key, label;
  std::string word = "MISSING";  // or FASTER SLOWER SAME UNDECIDED WATCHED MACHINE
  std::string note;              // why
  bool of_machine = false;       // the question that word and numbers answer; else: did the build?
  BuildCell build;
  MachineCell machine;

  // Seconds of the accepted build, or the median of its good nights; and tonight's.
  double before() const { return of_machine ? machine.before : build.seconds_a; }
  double after() const { return of_machine ? machine.seconds : build.seconds_b; }
  /// Relative to `before`; positive is slower. NaN: not known.
  double change() const { return of_machine ? machine.change : build.ratio - 1; }
  /// The smallest change that would have shown.
  double sees() const { return of_machine ? machine.limit : build.smallest_effect; }
};

struct Night {
  std::string word;                  // PASS, SLOWER, MACHINE, UNSURE, NOTHING MEASURED
  std::vector<std::string> reasons;  // what is slower, and what is unsure
  std::vector<NightCell> cells;      // what needs a look first
  TogetherNight together;
  double learnt = 0;  // good nights that half of the cells have

  std::size_t count(std::string_view verdict) const;
  /// "PASS (machine: 5 of 8 nights)", "UNSURE: 2 cells missing".
  std::string title() const;
};

/// The medians of the measured cells, in seconds, by key.
std::map<std::string, double> medians_of(const std::vector<Cell>& cells);

/// Cells to be measured again after the sweep, by keys as plan_holding takes them.
std::set<std::string> suspects_of(const NightInput& sweep);

Night judge_night(const NightInput& input);

}  // namespace scalebench
