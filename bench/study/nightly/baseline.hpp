// SPDX-License-Identifier: Apache-2.0
// What the nightly gate works on: the values of each cell, night after night, as logarithms in
// which larger is better. Pure values; where they come from is night.hpp's concern.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace scalebench {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

/// One cell and metric over the nights, oldest first. All vectors have one entry a night.
struct GateSeries {
  std::string family;            // cells of one family are about equally noisy
  double floor = 0.03;           // smallest relative change that counts
  bool moves_with_host = true;   // a slow host slows it: times do, ratios of times do not
  std::vector<double> y;         // -ln seconds, or ln efficiency; kNotMeasured: not there
  std::vector<double> rerun;     // the same of the night's rerun
  std::vector<int> segment;      // counts the accepted changes before a night
  double pinned = kNotMeasured;  // of the pinned run, when that is of the last segment
};

struct GateSeriesSet {
  std::vector<GateSeries> cells;
  /// A night: the shift that its rerun shows in cells that were no suspects; kNotMeasured: too few.
  std::vector<double> rerun_shift;

  std::size_t nights() const { return rerun_shift.size(); }
};

// What is expected of a night: per cell the median of the last accepted nights since the last
// accepted change, and a robust spread with floors. A spread outlives an accepted change, a level
// does not.

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
