// SPDX-License-Identifier: Apache-2.0
// A change too small or too slow for one night: where, among the last nights, would two levels fit
// better than one? Two-sample t with pooled variance for every place of the step.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/study/gate_series.hpp"

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

}  // namespace scalebench
