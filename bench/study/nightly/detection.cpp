// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/detection.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

/// A normal distribution's standard deviation over its median absolute deviation.
constexpr double kMadScale = 1.4826;

double median_absolute_deviation(const GateSeries& cell, const std::vector<std::size_t>& nights,
                                 const std::vector<double>& shifts) {
  std::map<int, std::vector<double>> by_segment;
  for (const std::size_t k : nights) {
    by_segment[cell.segment[k]].push_back(cell.y[k] - (cell.moves_with_host ? shifts[k] : 0));
  }
  std::vector<double> deviations;
  for (const auto& [segment, values] : by_segment) {
    const double middle = median_of(values);
    for (const double value : values) deviations.push_back(std::abs(value - middle));
  }
  // Around their own median so few values seem closer than they are (Croux, Rousseeuw 1992).
  const auto n = static_cast<double>(nights.size());
  return median_of(deviations) * n / (n - 0.8);
}

/// How much wider a new night spreads around a median of n than nights around their true level.
double prediction_factor(std::size_t n) {
  return std::sqrt(1 + std::numbers::pi / (2 * static_cast<double>(n)));
}

/// How noisy cells of a family are, and how much they differ in that beyond what chance makes of
/// so few nights. As empirical Bayes does for variances (Smyth, Stat. Appl. Genet. Mol. Biol. 3
/// (2004) 3), but on the logarithms of robust spreads, and never below the family's median.
class Family {
 public:
  explicit Family(const std::vector<double>& spreads) : usual_(median_of(spreads)) {
    if (spreads.size() < kFewest) return;
    std::vector<double> distances;
    for (const double spread : spreads) distances.push_back(std::abs(std::log(spread / usual_)));
    scatter_ = std::pow(kMadScale * median_of(distances), 2);
  }
  void moderate(CellBaseline& cell) const {
    // Variance of the logarithm of a MAD of n normal values, whose efficiency is 37 %.
    const double by_chance = 1 / (2 * 0.37 * cell.df);
    const double real = scatter_ ? std::max(0.0, *scatter_ - by_chance) : kMadScale;
    const double own = scatter_ ? real / (real + by_chance) : 1.0;
    if (cell.spread > usual_) {
      cell.spread = usual_ * std::pow(cell.spread / usual_, own);
    } else {
      cell.spread = usual_;
    }
    // What is left unknown of the spread, as degrees of freedom; never fewer than its nights give.
    const double unknown = own * by_chance;
    cell.df = scatter_ ? std::clamp(1 / (2 * unknown + 1e-9), cell.df, kMostFreedom) : cell.df;
  }

 private:
  static constexpr std::size_t kFewest = 10;  // cells that say how much cells differ
  static constexpr double kMostFreedom = 200;
  double usual_;
  std::optional<double> scatter_;  // variance of the logarithms of spreads
};

}  // namespace

std::vector<std::size_t> nights_of(const GateSeries& cell, std::size_t end, std::size_t most,
                                   std::optional<int> segment) {
  std::vector<std::size_t> nights;
  for (std::size_t k = end; k-- > 0 && nights.size() < most;) {
    const bool counts =
        !std::isnan(cell.y[k]) && cell.segment[k] == segment.value_or(cell.segment[k]);
    if (counts) nights.push_back(k);
  }
  return nights;
}

CommonShift common_shift(const GateSeriesSet& set, const NightBaseline& baseline, std::size_t night,
                         std::size_t k) {
  std::vector<double> shifts;
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    const GateSeries& cell = set.cells[c];
    const bool tells = cell.moves_with_host && baseline[c].enough &&
                       cell.segment[k] == cell.segment[night] && !std::isnan(cell.y[k]);
    if (tells) shifts.push_back(cell.y[k] - baseline[c].level);
  }
  if (shifts.size() < kFewestForHost) return {};
  return {shifts.size(), median_of(shifts)};
}

NightBaseline baseline_of(const GateSeriesSet& set, std::size_t night) {
  NightBaseline baseline;
  std::vector<std::vector<std::size_t>> nights;
  std::size_t oldest = night;
  for (const GateSeries& cell : set.cells) {
    nights.push_back(nights_of(cell, night, kBaselineNights));
    CellBaseline& its = baseline.emplace_back();
    std::vector<double> values;
    for (const std::size_t k : nights.back()) {
      if (cell.segment[k] == cell.segment[night]) values.push_back(cell.y[k]);
      oldest = std::min(oldest, k);
    }
    its.nights = values.size();
    its.level = median_of(values);
    its.enough = nights.back().size() >= kFewestNights && its.nights >= kFewestOfSegment;
  }
  // Nights are compared with the host's common shift taken out, so spreads are those without it.
  std::vector<double> shifts(night);
  for (std::size_t k = oldest; k < night; ++k) {
    shifts[k] = common_shift(set, baseline, night, k).value;
  }
  std::map<std::string, std::vector<double>> spreads_of;
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    CellBaseline& its = baseline[c];
    if (!its.enough) continue;
    its.df = static_cast<double>(nights[c].size() - 1);
    const double deviation = median_absolute_deviation(set.cells[c], nights[c], shifts);
    its.spread = std::max(kMadScale * deviation, kSpreadFloor);
    spreads_of[set.cells[c].family].push_back(its.spread);
  }
  std::map<std::string, Family> families;
  for (const auto& [name, spreads] : spreads_of) families.emplace(name, spreads);
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    CellBaseline& its = baseline[c];
    if (!its.enough) continue;
    families.at(set.cells[c].family).moderate(its);
    its.width = its.spread * prediction_factor(its.nights);
    its.reach = student_t_quantile(0.025, its.df) * its.width;
  }
  return baseline;
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
    const bool possible = baseline[c].enough && !std::isnan(y);
    result.cells.push_back(possible ? tested(set.cells[c], baseline[c], y, common.value)
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
      test.rerun = agreement_of(cell, baseline[c], cell.rerun[night],
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
    const CellBaseline& its = baseline[c];
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

Drift drift_of(const GateSeries& cell, std::size_t night, const std::vector<double>& shift) {
  Drift drift;
  if (std::isnan(cell.y[night])) return drift;
  std::vector<std::size_t> nights = nights_of(cell, night + 1, kDriftNights, cell.segment[night]);
  std::ranges::reverse(nights);
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
    const auto nights = nights_of(cell, night + 1, kDriftNights, cell.segment[night]);
    for (const std::size_t k : nights) values.push_back(cell.y[k]);
    const double middle = median_of(values);
    for (const std::size_t k : nights) of_night[k].push_back(cell.y[k] - middle);
  }
  std::vector<double> series;
  for (const std::vector<double>& values : of_night) {
    series.push_back(values.size() >= kFewestForHost ? median_of(values) : 0);
  }
  return series;
}

}  // namespace scalebench
