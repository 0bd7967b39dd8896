// SPDX-License-Identifier: Apache-2.0
// The gate's nightly proof: each tested cell in turn is made 10 % slower than it was tonight, and
// the same test must find it.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/study/night_statistic.hpp"

namespace scalebench {

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
