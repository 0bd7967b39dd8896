// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/baseline.hpp"

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

/// The nights of a cell's baseline, newest first, of whatever segment.
std::vector<std::size_t> nights_of(const GateSeries& cell, std::size_t night) {
  std::vector<std::size_t> nights;
  for (std::size_t k = night; k-- > 0 && nights.size() < kBaselineNights;) {
    if (!std::isnan(cell.y[k])) nights.push_back(k);
  }
  return nights;
}

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

CommonShift common_shift(const GateSeriesSet& set, const NightBaseline& baseline, std::size_t night,
                         std::size_t k) {
  std::vector<double> shifts;
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    const GateSeries& cell = set.cells[c];
    const bool tells = cell.moves_with_host && baseline.cells[c].enough &&
                       cell.segment[k] == cell.segment[night] && !std::isnan(cell.y[k]);
    if (tells) shifts.push_back(cell.y[k] - baseline.cells[c].level);
  }
  if (shifts.size() < kFewestForHost) return {};
  return {shifts.size(), median_of(shifts)};
}

NightBaseline baseline_of(const GateSeriesSet& set, std::size_t night) {
  NightBaseline baseline;
  std::vector<std::vector<std::size_t>> nights;
  std::size_t oldest = night;
  for (const GateSeries& cell : set.cells) {
    nights.push_back(nights_of(cell, night));
    CellBaseline& its = baseline.cells.emplace_back();
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
    CellBaseline& its = baseline.cells[c];
    if (!its.enough) continue;
    its.df = static_cast<double>(nights[c].size() - 1);
    const double deviation = median_absolute_deviation(set.cells[c], nights[c], shifts);
    its.spread = std::max(kMadScale * deviation, kSpreadFloor);
    spreads_of[set.cells[c].family].push_back(its.spread);
  }
  std::map<std::string, Family> families;
  for (const auto& [name, spreads] : spreads_of) families.emplace(name, spreads);
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    CellBaseline& its = baseline.cells[c];
    if (!its.enough) continue;
    families.at(set.cells[c].family).moderate(its);
    its.width = its.spread * prediction_factor(its.nights);
    its.reach = student_t_quantile(0.025, its.df) * its.width;
  }
  return baseline;
}

}  // namespace scalebench
