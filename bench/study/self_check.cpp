// SPDX-License-Identifier: Apache-2.0
#include "bench/study/self_check.hpp"

#include <algorithm>
#include <cmath>

namespace scalebench {
namespace {

constexpr std::size_t kMostCells = 1000;
// A cell moves the common shift of all cells a little when it drops.
constexpr double kSlack = 0.005;

}  // namespace

InjectedCheck inject(GateSeriesSet set, const NightBaseline& baseline, const NightTest& test,
                     const std::vector<double>& drops, std::size_t night) {
  std::vector<std::size_t> cells;
  for (std::size_t c = 0; c < test.cells.size(); ++c) {
    if (test.cells[c].signal != Signal::untested) cells.push_back(c);
  }
  const std::size_t stride = 1 + (cells.empty() ? 0 : (cells.size() - 1) / kMostCells);
  InjectedCheck check;
  for (std::size_t i = 0; i < cells.size(); i += stride) {
    const std::size_t c = cells[i];
    const double tonight = set.cells[c].y[night];
    set.cells[c].y[night] = tonight + std::log1p(kInjectedChange);
    const NightTest injected = test_night(set, baseline, night);
    set.cells[c].y[night] = tonight;
    ++check.tested;
    if (injected.cells[c].signal == Signal::worse) {
      ++check.caught;
      continue;
    }
    check.blind.push_back(c);
    const double expected = (1 + test.cells[c].change) * (1 + kInjectedChange) - 1;
    if (expected < -drops[c] - kSlack) check.broken.push_back(c);
  }
  return check;
}

}  // namespace scalebench
