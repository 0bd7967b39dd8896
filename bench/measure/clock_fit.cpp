// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/clock_fit.hpp"

#include <algorithm>
#include <cmath>

namespace scalebench {
namespace {

constexpr double kHorizonSeconds = 1;  // how long after the last point the residual is promised

double weight_of(const ClockPoint& point) {
  const double uncertainty = std::max(point.half_round, 1e-9);
  return 1 / (uncertainty * uncertainty);
}

}  // namespace

ClockModel fit_clock(std::span<const ClockPoint> points) {
  ClockModel model;
  double weights = 0;
  double half_round =
      0;  // a path slower one way than back hides in here, and no statistic shows it
  for (const ClockPoint& point : points) weights += weight_of(point);
  for (const ClockPoint& point : points) {
    const double share = weight_of(point) / weights;
    model.anchor += share * point.local;
    model.offset += share * point.offset;
    half_round += share * point.half_round;
  }
  double spread = 0;
  double joint = 0;
  for (const ClockPoint& point : points) {
    const double x = point.local - model.anchor;
    spread += weight_of(point) * x * x;
    joint += weight_of(point) * x * (point.offset - model.offset);
  }
  model.residual = half_round;
  if (points.size() < 3 || spread <= 0) return model;

  model.slope = joint / spread;
  double scatter = 0;
  for (const ClockPoint& point : points) {
    const double off = point.offset - model.offset - model.slope * (point.local - model.anchor);
    scatter += weight_of(point) * off * off;
  }
  scatter /= static_cast<double>(points.size() - 2);
  // Two standard errors of the line where it is used furthest from its points.
  const double reach = points.back().local + kHorizonSeconds - model.anchor;
  model.residual += 2 * std::sqrt(scatter * (1 / weights + reach * reach / spread));
  return model;
}

}  // namespace scalebench
