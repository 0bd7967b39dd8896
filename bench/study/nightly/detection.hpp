// SPDX-License-Identifier: Apache-2.0
// What a night's values say: of a cell that ran beside the accepted build, its rounds, in which the
// machine's state cancels; of any other, against the nights before it. Then false-discovery control
// over all cells and a floor on the effect. What gates and what replays earlier nights is one
// function. Pure values. Method and simulation: docs/gate.md.
#pragma once

#include "bench/study/nightly/baseline.hpp"

namespace scalebench {

/// Fewer rounds have no spread worth the name: such a cell is judged by its history.
inline constexpr std::size_t kFewestRounds = 3;
inline constexpr double kRerunSignificance = 0.01;
/// Beside the accepted build a suspect is easily one: p up to this, and this share of the floor.
/// Found it is by all rounds together, sweep's and rerun's, as one test among those of all cells;
/// the rerun alone has to show it, too. Two stages that are judged jointly see more than a second
/// one that has to prove all of it anew (Skol et al. 2006, Nature Genetics 38, 209).
inline constexpr double kSuspicion = 0.02;
inline constexpr double kSuspectShare = 2.0 / 3;
inline constexpr double kRerunAlone = 0.05;

enum class Signal {
  untested,
  shifted,  // not judged: all cells together were elsewhere than on the nights before
  none,
  worse,
  better
};

/// What the rerun of a suspect said.
enum class Agreement {
  unknown,  // not measured again
  agrees,
  disagrees,
  discarded  // the host was in another state, and that would decide the answer
};

/// Where a cell is tonight relative to where it should be, as a logarithm; negative: slower.
struct Estimate {
  double value = kNotMeasured;
  double width = kNotMeasured;  // standard deviation of `value` when nothing has changed
  double df = 1;
  bool known() const { return value == value && width == width; }
};

struct CellTest {
  Signal signal = Signal::untested;
  Agreement rerun = Agreement::unknown;
  bool doubtful = false;             // not clearly worse, but a suspect: to be measured again
  std::size_t rounds = 0;            // beside the accepted build; 0: against the nights before
  double change = kNotMeasured;      // relative, positive is better, without what all cells share;
                                     // of the rerun's rounds, too, where they agree
  double change_low = kNotMeasured;  // 95 %
  double change_high = kNotMeasured;
  double score = kNotMeasured;  // t
  double p_worse = kNotMeasured;
  double p_better = kNotMeasured;
  double q_worse = kNotMeasured;
  double q_better = kNotMeasured;
  Estimate estimate;             // what the above rests on
  double spread = kNotMeasured;  // of one round, or of one night

  bool is_suspect() const { return signal == Signal::worse || doubtful; }
};

struct NightTest {
  std::vector<CellTest> cells;
  Shift common;  // of the cells against the nights before; taken out of those judged by history
  Shift suite;   // of all cells beside the accepted build: what the commits did to all of them
  double rerun_shift = kNotMeasured;  // what cells that were no suspects did in the rerun
};

/// Tests night `night` of all cells; `baseline` is that of this night. `host`: the shift as the
/// accepted build's cells tell it, when they do, else that of the cells under test. Cells that are
/// kept out of tonight's baseline, their regression being open, are measured and not tested again.
NightTest test_night(const GateSeriesSet& set, const NightBaseline& baseline, const Shift& host,
                     std::size_t night);

// What a night could have shown.

/// As surely as this a change that is called the smallest one is found and found again.
inline constexpr double kNightPower = 0.8;
inline constexpr double kToBeSeen = 0.10;

struct Sensitivity {
  double critical_drop = kNotMeasured;  // relative; a value further down than this is a suspect
  double mde = kNotMeasured;            // relative drop found with kNightPower, the rerun included
  /// Launches, or rounds beside the accepted build, that would bring mde to kToBeSeen; none: it is
  /// there, or no number of up to 1000 would.
  std::optional<std::size_t> launches_needed;

  bool sees() const { return mde <= kToBeSeen; }
};

/// For each cell, the other cells being as they are tonight. Not known of cells that were not
/// judged.
std::vector<Sensitivity> sensitivities(const GateSeriesSet& set, const NightTest& test);

}  // namespace scalebench
