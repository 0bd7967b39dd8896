// SPDX-License-Identifier: Apache-2.0
#include "bench/study/drift.hpp"

#include <cmath>

#include "bench/measure/statistics.hpp"
#include "bench/study/night_statistic.hpp"
#include "bench/study/student_t.hpp"

namespace scalebench {
namespace {

/// Nights that count, oldest first, `night` last.
std::vector<std::size_t> nights_of(const GateSeries& cell, std::size_t night) {
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
  const std::vector<std::size_t> nights = nights_of(cell, night);
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
    for (const std::size_t k : nights_of(cell, night)) values.push_back(cell.y[k]);
    const double middle = median_of(values);
    for (const std::size_t k : nights_of(cell, night)) {
      of_night[k].push_back(cell.y[k] - middle);
    }
  }
  std::vector<double> series;
  for (const std::vector<double>& values : of_night) {
    series.push_back(values.size() >= kFewestForHost ? median_of(values) : 0);
  }
  return series;
}

}  // namespace scalebench
