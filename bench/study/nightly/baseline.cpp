// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/baseline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

/// A normal distribution's standard deviation over its median absolute deviation.
constexpr double kMadScale = 1.4826;
/// Nights that say how much each resembles the one before: more than make a level.
constexpr std::size_t kCorrelationNights = 40;
constexpr double kSpreadEfficiency = 0.75;  // of robust_spread, of few values
constexpr double kMostCorrelation = 0.9;
constexpr std::size_t kFewestOfFamily = 10;  // cells that say how much cells differ

/// The variance of a median of n, over that of one value.
double median_variance(std::size_t n, double phi) {
  return std::numbers::pi / 2 / effective_count(n, phi);
}

/// Sample correlations at lags 1 and 2, deviations beyond three spreads drawn in, with the bias of
/// short series taken out.
struct Lags {
  double first = 0;
  double second = 0;
};

Lags lags_of(std::vector<double> deviations) {
  const std::size_t count = deviations.size();
  if (count < 6) return {};
  std::vector<double> sizes;
  for (const double d : deviations) sizes.push_back(std::abs(d));
  const double most = 3 * kMadScale * median_of(sizes);
  double squares = 0, first = 0, second = 0;
  for (double& d : deviations) d = std::clamp(d, -most, most);
  for (std::size_t i = 0; i < count; ++i) {
    squares += deviations[i] * deviations[i];
    if (i > 0) first += deviations[i] * deviations[i - 1];
    if (i > 1) second += deviations[i] * deviations[i - 2];
  }
  if (!(squares > 0)) return {};
  const auto n = static_cast<double>(count);
  Lags lags;
  lags.first = (first / squares * n / (n - 1) * n + 1) / (n - 3);
  const double phi = std::clamp(lags.first, 0.0, kMostCorrelation);
  const double bias = ((1 + phi) * (1 + phi) + 4 * phi * phi) / n;
  lags.second = second / squares * n / (n - 2) + bias;
  return lags;
}

/// Where resemblance fades more slowly than by its own power, as when each night's own noise lies
/// over a slow one, the slow part is what counts.
double phi_of(const Lags& lags) {
  constexpr double kClear = 0.2;
  const double slow = lags.first > kClear ? lags.second / lags.first : 0;
  return std::clamp(std::max(lags.first, slow), 0.0, kMostCorrelation);
}

/// Its nights' deviations from the median of their segment, oldest first, shifts taken out.
std::vector<double> deviations_of(const GateSeries& cell, std::vector<std::size_t> nights,
                                  const NightBaseline& baseline) {
  std::ranges::sort(nights);
  std::map<int, std::vector<double>> by_segment;
  const auto value = [&](std::size_t k) {
    return cell.y[k] - (cell.moves_with_host ? baseline.shift(k) : 0);
  };
  for (const std::size_t k : nights) by_segment[cell.segment[k]].push_back(value(k));
  std::map<int, double> middle;
  for (const auto& [segment, values] : by_segment) middle[segment] = median_of(values);
  std::vector<double> deviations;
  for (const std::size_t k : nights) deviations.push_back(value(k) - middle[cell.segment[k]]);
  return deviations;
}

/// phi of each cell: its family's, and its own as far as cells differ by more than chance.
void set_correlations(const GateSeriesSet& set, const std::vector<std::vector<double>>& deviations,
                      NightBaseline& baseline) {
  std::map<std::string, std::vector<std::size_t>> families;
  std::vector<Lags> lags;
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    lags.push_back(lags_of(deviations[c]));
    if (deviations[c].size() >= kFewestNights) families[set.cells[c].family].push_back(c);
  }
  for (const auto& [name, cells] : families) {
    std::vector<double> first, second, distances, chances;
    for (const std::size_t c : cells) {
      first.push_back(lags[c].first);
      second.push_back(lags[c].second);
    }
    const Lags usual{median_of(first), median_of(second)};
    const double family = phi_of(usual);
    for (const std::size_t c : cells) {
      const auto n = static_cast<double>(deviations[c].size());
      distances.push_back(std::abs(lags[c].first - usual.first));
      chances.push_back((1 - family * family) * n / ((n - 3) * (n - 3)));
    }
    const double by_chance = median_of(chances);
    const double seen = std::pow(kMadScale * median_of(distances), 2);
    const bool tells = cells.size() >= kFewestOfFamily;
    const double real = tells ? std::max(0.0, seen - by_chance) : 0;
    const double own = real / (real + by_chance);
    for (const std::size_t c : cells) {
      const double phi = family + own * (lags[c].first - usual.first);
      baseline.cells[c].phi = std::clamp(phi, 0.0, kMostCorrelation);
      baseline.cells[c].of_family = tells;
    }
  }
}

/// The median of what the cells that may tell did in night `k` against their levels; `cells` counts
/// them.
double shift_in(const GateSeriesSet& set, const NightBaseline& baseline, std::size_t night,
                std::size_t k, std::size_t& cells) {
  std::vector<double> shifts;
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    const GateSeries& cell = set.cells[c];
    const bool tells = cell.moves_with_host && baseline[c].enough && !cell.kept_out[k] &&
                       cell.segment[k] == cell.segment[night] && !std::isnan(cell.y[k]);
    if (tells) shifts.push_back(cell.y[k] - baseline[c].level);
  }
  cells = shifts.size();
  return cells < kFewestForHost ? kNotMeasured : median_of(shifts);
}

}  // namespace

GateSeriesSet::GateSeriesSet(std::size_t count)
    : nights(count), build(count, 0), build_from(count, 0) {}

GateSeries& GateSeriesSet::add_cell() {
  GateSeries& cell = cells.emplace_back();
  cell.y.assign(nights, kNotMeasured);
  cell.rerun.assign(nights, kNotMeasured);
  cell.segment.assign(nights, 0);
  cell.kept_out.assign(nights, false);
  cell.beside.resize(nights);
  cell.build.assign(nights, 0);
  return cell;
}

std::vector<std::size_t> nights_of(const GateSeries& cell, std::size_t end, std::size_t most,
                                   std::optional<int> segment) {
  std::vector<std::size_t> nights;
  for (std::size_t k = end; k-- > 0 && nights.size() < most;) {
    const bool counts = !std::isnan(cell.y[k]) && !cell.kept_out[k] &&
                        cell.segment[k] == segment.value_or(cell.segment[k]);
    if (counts) nights.push_back(k);
  }
  return nights;
}

double effective_count(std::size_t n, double phi) {
  const auto count = static_cast<double>(n);
  if (n < 2 || phi <= 0) return count;
  const double inflation = (1 + phi) / (1 - phi) -
                           2 * phi * (1 - std::pow(phi, count)) / (count * (1 - phi) * (1 - phi));
  return std::max(1.0, count / inflation);
}

double correlation_of(const std::vector<double>& values) {
  const double middle = median_of(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(value - middle);
  return std::clamp(lags_of(std::move(deviations)).first, 0.0, kMostCorrelation);
}

double robust_spread(const std::vector<double>& values) {
  const std::size_t n = values.size();
  if (n < 2) return kNotMeasured;
  std::vector<double> distances;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) distances.push_back(std::abs(values[i] - values[j]));
  }
  const std::size_t half = n / 2 + 1;
  const auto place = distances.begin() + static_cast<std::ptrdiff_t>(half * (half - 1) / 2 - 1);
  std::ranges::nth_element(distances, place);
  constexpr std::array kOfFew{.399, .994, .512, .844, .611, .857, .669, .872};  // from 2 on
  const auto count = static_cast<double>(n);
  const double few = n < kOfFew.size() + 2 ? kOfFew[n - 2] : count / (count + (n % 2 ? 1.4 : 3.8));
  return few * 2.2219 * *place;
}

void borrow_from_families(std::vector<Spread>& spreads) {
  std::map<std::string, std::vector<Spread*>> families;
  for (Spread& spread : spreads) families[spread.family].push_back(&spread);
  for (const auto& [name, family] : families) {
    std::vector<double> values, distances;
    for (const Spread* const cell : family) values.push_back(cell->value);
    const double usual = median_of(values);
    for (const double value : values) distances.push_back(std::abs(std::log(value / usual)));
    const bool tells = family.size() >= kFewestOfFamily;
    const double scatter = std::pow(kMadScale * median_of(distances), 2);
    for (Spread* const cell : family) {
      // Variance of the logarithm of a robust spread of so many normal values.
      const double by_chance = 1 / (2 * kSpreadEfficiency * cell->df);
      const double real = std::max(0.0, scatter - by_chance);
      const double own = tells ? real / (real + by_chance) : 1.0;
      cell->value = cell->value > usual ? usual * std::pow(cell->value / usual, own) : usual;
      // What is left unknown of it, as degrees of freedom; never fewer than its own values give.
      constexpr double kMostFreedom = 200;
      if (tells) {
        cell->df = std::clamp(1 / (2 * own * by_chance + 1e-9), cell->df, kMostFreedom);
      }
    }
  }
}

bool Shift::alarm() const {
  if (cells == 0) return false;
  constexpr double kThere = 0.01;
  return clear() || (p_value < kThere && std::abs(std::expm1(value)) > kHostAlarm);
}

bool Shift::clear() const {
  if (cells == 0) return false;
  constexpr double kClear = 0.001;
  const double furthest = value < 0 ? low : high;
  return p_value < kClear && std::abs(std::expm1(furthest)) > kHostAlarm;
}

Shift shift_with(std::size_t cells, double value, double width, double df) {
  Shift shift{cells, value, width, df};
  const double reach = student_t_quantile(0.025, df) * width;
  shift.low = value - reach;
  shift.high = value + reach;
  shift.p_value = 2 * student_t_tail(std::abs(value) / width, df);
  return shift;
}

double NightBaseline::shift(std::size_t k) const {
  return k >= shifts.size() || std::isnan(shifts[k]) ? 0 : shifts[k];
}

NightBaseline baseline_of(const GateSeriesSet& set, std::size_t night) {
  NightBaseline baseline;
  std::size_t oldest = night;
  std::vector<std::vector<std::size_t>> nights;
  for (const GateSeries& cell : set.cells) {
    nights.push_back(nights_of(cell, night, kCorrelationNights));
    CellBaseline& its = baseline.cells.emplace_back();
    std::vector<double> values;
    std::size_t last = 0;
    for (const std::size_t k : nights.back()) {
      oldest = std::min(oldest, k);
      if (last++ < kBaselineNights && cell.segment[k] == cell.segment[night]) {
        values.push_back(cell.y[k]);
      }
    }
    its.nights = values.size();
    its.level = median_of(values);
    its.enough = nights.back().size() >= kFewestNights && its.nights > 0;
  }
  // Nights are compared with the shift that all share taken out, so spreads are those without it.
  baseline.shifts.assign(night, kNotMeasured);
  std::size_t telling = 0;
  for (std::size_t k = oldest; k < night; ++k) {
    baseline.shifts[k] = shift_in(set, baseline, night, k, telling);
  }
  std::vector<std::vector<double>> deviations;
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    deviations.push_back(deviations_of(set.cells[c], nights[c], baseline));
  }
  set_correlations(set, deviations, baseline);
  std::vector<Spread> spreads;
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    if (!baseline[c].enough) continue;
    const std::vector<double>& all = deviations[c];
    const std::size_t count = std::min(all.size(), kBaselineNights);
    const std::vector<double> last(all.end() - static_cast<std::ptrdiff_t>(count), all.end());
    const auto n = static_cast<double>(count);
    const double phi = baseline[c].phi;
    // Values that resemble each other also seem closer to their own middle than they are.
    const double closer = (1 - 1 / n) / (1 - 1 / std::max(1.5, effective_count(count, phi)));
    const double squared = phi * phi;
    spreads.push_back({set.cells[c].family,
                       std::max(robust_spread(last) * std::sqrt(closer), kSpreadFloor),
                       std::max(1.0, n * (1 - squared) / (1 + squared) - 1)});
  }
  borrow_from_families(spreads);
  auto spread = spreads.begin();
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    CellBaseline& its = baseline.cells[c];
    if (!its.enough) continue;
    its.spread = spread->value;
    its.df = spread->df;
    ++spread;
    its.width = its.spread * std::sqrt(1 + median_variance(its.nights, its.phi));
  }
  return baseline;
}

Shift common_shift(const GateSeriesSet& set, const NightBaseline& baseline, std::size_t night) {
  std::size_t cells = 0;
  const double value = shift_in(set, baseline, night, night, cells);
  if (std::isnan(value)) return {};
  std::vector<double> widths;
  for (const CellBaseline& cell : baseline.cells) {
    if (cell.enough) widths.push_back(cell.width);
  }
  std::vector<double> before;
  for (std::size_t k = night; k-- > 0 && before.size() < kBaselineNights;) {
    if (!std::isnan(baseline.shifts[k])) before.push_back(baseline.shifts[k]);
  }
  std::ranges::reverse(before);
  // If cells were independent, of their noise alone; what nights have shown when that is more.
  double width = std::sqrt(std::numbers::pi / 2 / static_cast<double>(cells)) * median_of(widths);
  double df = static_cast<double>(cells - 1);
  if (before.size() >= kFewestNights) {
    const double phi = correlation_of(before);
    const double nights =
        robust_spread(before) * std::sqrt(1 + median_variance(before.size(), phi));
    if (nights > width) {
      width = nights;
      // At least as well known as this, since the cells' own noise bounds it from below.
      df = std::max(5.0, effective_count(before.size(), phi) - 1);
    }
  }
  return shift_with(cells, value, width, df);
}

namespace {

/// Sums over whitened values from which every step's fit follows.
struct Step {
  double t = 0;
  double size = 0;
  std::size_t place = 0;
  std::size_t earliest = 0;  // that fits nearly as well
};

/// The clearest step for the worse in `y`, whose values follow each other with correlation phi.
Step clearest_step(const std::vector<double>& y, double phi) {
  const std::size_t n = y.size();
  const double first = std::sqrt(1 - phi * phi), rest = 1 - phi;
  std::vector<double> e(n);  // what is new in each
  e[0] = first * y[0];
  for (std::size_t i = 1; i < n; ++i) e[i] = y[i] - phi * y[i - 1];
  double sum_xx = first * first, sum_xe = first * e[0], sum_ee = e[0] * e[0];
  for (std::size_t i = 1; i < n; ++i) {
    sum_xx += rest * rest;
    sum_xe += rest * e[i];
    sum_ee += e[i] * e[i];
  }
  Step clearest;
  std::vector<double> left(n, std::numeric_limits<double>::infinity());  // by the step's place
  double later = 0;  // sum of e after the step's first night
  for (std::size_t k = n - 1; k >= kDriftBefore; --k) {
    const auto after = static_cast<double>(n - k - 1);
    const double zz = 1 + after * rest * rest;
    const double xz = rest + after * rest * rest;
    const double ze = e[k] + rest * later;
    later += e[k];
    if (k + kDriftSide > n) continue;
    const double alone = zz - xz * xz / sum_xx;
    const double size = (ze - xz * sum_xe / sum_xx) / alone;
    const double residual = sum_ee - sum_xe * sum_xe / sum_xx - size * size * alone;
    left[k] = residual;
    const double variance = std::max(residual / static_cast<double>(n - 2),
                                     kSpreadFloor * kSpreadFloor * (1 - phi * phi));
    const double t = -size / std::sqrt(variance / alone);
    if (t > clearest.t) clearest = {t, size, k, k};
  }
  // Places whose likelihood ratio to the clearest one is within its 95 %.
  constexpr double kChiSquare = 3.84;
  const double most = left[clearest.place] * std::exp(kChiSquare / static_cast<double>(n));
  for (std::size_t k = clearest.place; clearest.t > 0 && k >= kDriftBefore; --k) {
    if (left[k] <= most) clearest.earliest = k;
  }
  return clearest;
}

}  // namespace

Drift drift_of(const GateSeries& cell, std::size_t night, const std::vector<double>& shift,
               std::optional<double> phi) {
  Drift drift;
  if (std::isnan(cell.y[night])) return drift;
  std::vector<std::size_t> nights = nights_of(cell, night + 1, kDriftNights, cell.segment[night]);
  std::ranges::reverse(nights);
  if (nights.size() < kDriftBefore + kDriftSide) return drift;
  std::vector<double> y;
  for (const std::size_t k : nights) {
    // Relative to the first value, so that little is lost to rounding.
    const bool moved = cell.moves_with_host && !std::isnan(shift[k]);
    y.push_back(cell.y[k] - cell.y[nights[0]] - (moved ? shift[k] : 0));
  }
  Step step = clearest_step(y, phi.value_or(0));
  if (!phi && step.t > 0) {
    std::vector<double> flat = y;
    for (std::size_t i = step.place; i < flat.size(); ++i) flat[i] -= step.size;
    step = clearest_step(y, correlation_of(flat));
  }
  if (!(step.t > 0)) return drift;
  drift.change = std::expm1(step.size);
  drift.since = nights[step.place];
  drift.earliest = nights[step.earliest];
  const double p = student_t_tail(step.t, static_cast<double>(y.size() - 2));
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
    series.push_back(values.size() >= kFewestForHost ? median_of(values) : kNotMeasured);
  }
  return series;
}

}  // namespace scalebench
