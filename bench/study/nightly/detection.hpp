// SPDX-License-Identifier: Apache-2.0
// A change too small or too slow for one night: where, among the last nights, would two levels fit
// better than one? Two-sample t with pooled variance for every place of the step.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/study/nightly/baseline.hpp"

namespace scalebench {

inline constexpr std::size_t kDriftNights = 40;
inline constexpr std::size_t kDriftSide = 3;    // fewest nights after the step
inline constexpr std::size_t kDriftBefore = 5;  // and before it
inline constexpr double kDriftSignificance = 1e-6;
inline constexpr double kDriftFloor = 0.02;

struct Drift {
  bool found = false;
  double change = kNotMeasured;  // relative, negative is worse; of the clearest step for the worse
  std::size_t since = 0;         // the first night after it
};

/// The last nights of one cell up to `night`, of its segment; `shift` is removed from each night.
Drift drift_of(const GateSeries& cell, std::size_t night, const std::vector<double>& shift);

/// What all cells of the host share in each night, relative to their own medians over the nights;
/// 0 for nights in which too few tell.
std::vector<double> host_series(const GateSeriesSet& set, std::size_t night);

// One night against the nights before it: per cell a prediction interval from a robust baseline,
// after the shift that all cells of a host share; then false-discovery control over all cells and a
// floor on the effect. What gates, what replays earlier nights and what tests itself is this one
// function. Method and simulation: results/README.md, How a night is judged.

inline constexpr double kHostAlarm = 0.03;
inline constexpr double kRerunSignificance = 0.01;

enum class Signal { untested, none, worse, better };

/// What the rerun of a suspect said.
enum class Agreement { unknown, agrees, disagrees };

struct CellTest {
  Signal signal = Signal::untested;
  Agreement rerun = Agreement::unknown;
  double change = kNotMeasured;      // relative, positive is better, common shift removed
  double change_low = kNotMeasured;  // 95 %
  double change_high = kNotMeasured;
  double score = kNotMeasured;  // t
  double p_worse = kNotMeasured;
  double p_better = kNotMeasured;
  double q_worse = kNotMeasured;
  double q_better = kNotMeasured;
};

struct NightTest {
  std::vector<CellTest> cells;
  std::size_t shift_cells = 0;  // that tell the common shift; 0: too few, none is removed
  double shift = 0;             // logarithm, negative: the host was slower
  bool host_alarm() const;
};

/// Tests night `night` of all cells; `baseline` is that of this night.
NightTest test_night(const GateSeriesSet& set, const NightBaseline& baseline, std::size_t night);

/// For each tested cell the smallest relative drop below its baseline that `test` would have found,
/// the other cells being as they are: what is applied, turned round, the discovery threshold
/// included. Positive.
std::vector<double> smallest_drops(const GateSeriesSet& set, const NightBaseline& baseline,
                                   const NightTest& test);

// The gate's nightly proof: each tested cell in turn is made 10 % slower than it was tonight, and
// the same test must find it.

inline constexpr double kInjectedChange = -0.10;

struct InjectedCheck {
  std::size_t tested = 0;
  std::size_t caught = 0;
  std::vector<std::size_t> blind;   // cells whose injected drop was not found
  std::vector<std::size_t> broken;  // of those, where the stated smallest drop promised it

  /// Whether the gate can be believed: it keeps what it promises, and some cell shows the drop.
  /// True when nothing was tested.
  bool passed() const { return tested == 0 || (caught > 0 && broken.empty()); }
};

/// `drops`: as smallest_drops() gives them. A drop is promised where tonight's value, lowered, lies
/// below the stated smallest drop: a cell that noise has lifted tonight has that much left to fall.
/// Above 1000 tested cells a sample of them, evenly spaced, is tried.
InjectedCheck inject(GateSeriesSet set, const NightBaseline& baseline, const NightTest& test,
                     const std::vector<double>& drops, std::size_t night);

}  // namespace scalebench
