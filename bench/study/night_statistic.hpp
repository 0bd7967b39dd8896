// SPDX-License-Identifier: Apache-2.0
// One night against the nights before it: per cell a prediction interval from a robust baseline,
// after the shift that all cells of a host share; then false-discovery control over all cells and a
// floor on the effect. What gates, what replays earlier nights and what tests itself is this one
// function. Method and simulation: results/README.md, How a night is judged.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/study/gate_series.hpp"
#include "bench/study/night_baseline.hpp"

namespace scalebench {

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

}  // namespace scalebench
