// SPDX-License-Identifier: Apache-2.0
// What the nightly gate works on: the values of each cell, night after night, as logarithms in
// which larger is better. Pure values; where they come from is night.hpp's concern.
#pragma once

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

}  // namespace scalebench
