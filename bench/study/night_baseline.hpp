// SPDX-License-Identifier: Apache-2.0
// What is expected of a night: per cell the median of the last accepted nights since the last
// accepted change, and a robust spread with floors. A spread outlives an accepted change, a level
// does not.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/study/gate_series.hpp"

namespace scalebench {

inline constexpr std::size_t kBaselineNights = 20;  // at most
inline constexpr std::size_t kFewestNights = 8;     // below, nothing is tested
inline constexpr std::size_t kFewestOfSegment = 3;  // after an accepted change
inline constexpr double kSpreadFloor = 0.002;
inline constexpr std::size_t kFewestForHost = 10;  // cells that a common shift takes

struct CellBaseline {
  bool enough = false;           // nights for a test
  std::size_t nights = 0;        // of this segment
  double df = 0;                 // nights whose spread is known, less one
  double level = kNotMeasured;   // median
  double spread = kNotMeasured;  // standard deviation of a night: the largest of its own, its
                                 // family's usual one, and kSpreadFloor
  double width = kNotMeasured;   // of a new night around the level: wider, since that is estimated
  double reach = kNotMeasured;   // half a 95 % prediction interval
};

/// The shift that enough cells share, relative to their levels.
struct CommonShift {
  std::size_t cells = 0;  // 0: too few
  double value = 0;       // logarithm; 0 when too few tell
};

struct NightBaseline {
  std::vector<CellBaseline> cells;
};

/// From the nights before `night`.
NightBaseline baseline_of(const GateSeriesSet& set, std::size_t night);

/// How all cells together did in night `k`, against the baseline of night `night`.
CommonShift common_shift(const GateSeriesSet& set, const NightBaseline& baseline, std::size_t night,
                         std::size_t k);

}  // namespace scalebench
