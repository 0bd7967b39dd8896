// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/detection.hpp"

#include <algorithm>
#include <cmath>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

/// Nights that count, oldest first, `night` last.
std::vector<std::size_t> counted_nights(const GateSeries& cell, std::size_t night) {
  std::vector<std::size_t> nights;
  for (std::size_t k = night + 1; k-- > 0 && nights.size() < kDriftNights;) {
    const bool counts = !std::isnan(cell.y[k]) && cell.segment[k] == cell.segment[night];
    if (counts) nights.insert(nights.begin(), k);
  }
  return nights;
}

}  // namespace

Drift drift_of(const GateSeries& cell, std::size_t night, const std::vector<double>& shift) {
  Drift drift;
  if (std::isnan(cell.y[night])) return drift;
  const std::vector<std::size_t> nights = counted_nights(cell, night);
  const std::size_t n = nights.size();
  if (n < kDriftBefore + kDriftSide) return drift;
  // Sums from the first night on give both sides of every step at once; relative to the first
  // value, so that little is lost to rounding.
  std::vector<double> sum{0}, squares{0};
  for (const std::size_t k : nights) {
    const double y = cell.y[k] - cell.y[nights[0]] - (cell.moves_with_host ? shift[k] : 0);
    sum.push_back(sum.back() + y);
    squares.push_back(squares.back() + y * y);
  }
  double clearest = 0;
  for (std::size_t k = kDriftBefore; k + kDriftSide <= n; ++k) {
    const auto a = static_cast<double>(k);
    const auto b = static_cast<double>(n - k);
    const double before = sum[k] / a;
    const double after = (sum[n] - sum[k]) / b;
    const double residual = squares[n] - a * before * before - b * after * after;
    const double variance =
        std::max(residual / static_cast<double>(n - 2), kSpreadFloor * kSpreadFloor);
    const double t = (before - after) / std::sqrt(variance * (1 / a + 1 / b));
    if (t <= clearest) continue;
    clearest = t;
    drift.change = std::expm1(after - before);
    drift.since = nights[k];
  }
  if (clearest == 0) return drift;
  const double p = student_t_tail(clearest, static_cast<double>(n - 2));
  drift.found = p < kDriftSignificance && drift.change <= -kDriftFloor;
  return drift;
}

std::vector<double> host_series(const GateSeriesSet& set, std::size_t night) {
  std::vector<std::vector<double>> of_night(night + 1);
  for (const GateSeries& cell : set.cells) {
    if (!cell.moves_with_host || std::isnan(cell.y[night])) continue;
    std::vector<double> values;
    for (const std::size_t k : counted_nights(cell, night)) values.push_back(cell.y[k]);
    const double middle = median_of(values);
    for (const std::size_t k : counted_nights(cell, night)) {
      of_night[k].push_back(cell.y[k] - middle);
    }
  }
  std::vector<double> series;
  for (const std::vector<double>& values : of_night) {
    series.push_back(values.size() >= kFewestForHost ? median_of(values) : 0);
  }
  return series;
}

namespace {

CellTest tested(const GateSeries& cell, const CellBaseline& baseline, double y, double shift) {
  CellTest test;
  test.signal = Signal::none;
  const double d = y - baseline.level - (cell.moves_with_host ? shift : 0);
  test.score = d / baseline.width;
  test.p_better = student_t_tail(test.score, baseline.df);
  test.p_worse = student_t_tail(-test.score, baseline.df);
  test.change = std::expm1(d);
  test.change_low = std::expm1(d - baseline.reach);
  test.change_high = std::expm1(d + baseline.reach);
  return test;
}

Agreement agreement_of(const GateSeries& cell, const CellBaseline& baseline, double y,
                       double shift) {
  if (std::isnan(y)) return Agreement::unknown;
  const CellTest again = tested(cell, baseline, y, shift);
  const bool agrees = again.p_worse < kRerunSignificance && again.change <= -cell.floor;
  return agrees ? Agreement::agrees : Agreement::disagrees;
}

std::vector<double> p_worse_of(const NightTest& test) {
  std::vector<double> p_values;
  for (const CellTest& cell : test.cells) p_values.push_back(cell.p_worse);
  return p_values;
}

}  // namespace

bool NightTest::host_alarm() const {
  return shift_cells > 0 && std::abs(std::expm1(shift)) > kHostAlarm;
}

NightTest test_night(const GateSeriesSet& set, const NightBaseline& baseline, std::size_t night) {
  NightTest result;
  const CommonShift common = common_shift(set, baseline, night, night);
  result.shift_cells = common.cells;
  result.shift = common.value;
  std::vector<double> p_better;
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    const double y = set.cells[c].y[night];
    const bool possible = baseline.cells[c].enough && !std::isnan(y);
    result.cells.push_back(possible ? tested(set.cells[c], baseline.cells[c], y, common.value)
                                    : CellTest());
    p_better.push_back(result.cells.back().p_better);
  }
  const std::vector<double> q_worse = benjamini_hochberg(p_worse_of(result));
  const std::vector<double> q_better = benjamini_hochberg(p_better);
  // A rerun has its own share of the host's shift, where enough of its cells can tell.
  const double moved = set.rerun_shift[night];
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    const GateSeries& cell = set.cells[c];
    CellTest& test = result.cells[c];
    if (test.signal == Signal::untested) continue;
    test.q_worse = q_worse[c];
    test.q_better = q_better[c];
    if (test.q_worse <= kFalseDiscoveryRate && test.change <= -cell.floor) {
      test.signal = Signal::worse;
      test.rerun = agreement_of(cell, baseline.cells[c], cell.rerun[night],
                                std::isnan(moved) ? common.value : moved);
    } else if (test.q_better <= kFalseDiscoveryRate && test.change >= cell.floor) {
      test.signal = Signal::better;
    }
  }
  return result;
}

std::vector<double> smallest_drops(const GateSeriesSet& set, const NightBaseline& baseline,
                                   const NightTest& test) {
  const std::vector<double> limits = discovery_limits(p_worse_of(test));
  std::vector<double> drops(set.cells.size(), kNotMeasured);
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    if (test.cells[c].signal == Signal::untested) continue;
    const CellBaseline& its = baseline.cells[c];
    const double drop = -std::expm1(-student_t_quantile(limits[c], its.df) * its.width);
    drops[c] = std::max(drop, set.cells[c].floor);
  }
  return drops;
}

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
