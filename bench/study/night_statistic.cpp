// SPDX-License-Identifier: Apache-2.0
#include "bench/study/night_statistic.hpp"

#include <algorithm>
#include <cmath>

#include "bench/study/false_discovery.hpp"
#include "bench/study/student_t.hpp"

namespace scalebench {
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

}  // namespace scalebench
