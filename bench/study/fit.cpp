// SPDX-License-Identifier: Apache-2.0
#include "bench/study/fit.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/study/least_squares.hpp"

namespace scalebench {
namespace {

/// Work as the model takes it: one step that sends the buffer once, where nobody knows more.
AllreduceWork modelled(const AllreduceWork& work, double size_bytes) {
  const bool known = !std::isnan(work.steps + work.sent_bytes + work.reduced_bytes);
  return known ? work : AllreduceWork{1, size_bytes, 0};
}

void set_residuals(AllreduceFit& fit, std::span<const MeasuredWork> points) {
  double squares = 0;
  for (const MeasuredWork& point : points) {
    const double model = predicted_seconds(fit, point.work, point.size_bytes);
    const double residual = (model - point.seconds) / point.seconds;
    squares += residual * residual;
    if (std::abs(residual) >= std::abs(fit.worst_relative_residual)) {
      fit.worst_relative_residual = residual;
      fit.worst_bytes = point.size_bytes;
    }
  }
  fit.rms_relative_residual = std::sqrt(squares / static_cast<double>(points.size()));
}

}  // namespace

double predicted_seconds(const AllreduceFit& fit, const AllreduceWork& work, double size_bytes) {
  const AllreduceWork done = modelled(work, size_bytes);
  return fit.alpha_seconds * done.steps + fit.beta_seconds_per_byte * done.sent_bytes +
         fit.gamma_seconds_per_byte.value_or(0) * done.reduced_bytes;
}

std::optional<AllreduceFit> fit_of(std::span<const MeasuredWork> points) {
  if (points.empty()) return std::nullopt;
  // Divided by the measured time, so that errors are relative: the target is 1 everywhere.
  std::vector<double> steps, sent, reduced;
  for (const MeasuredWork& point : points) {
    const AllreduceWork work = modelled(point.work, point.size_bytes);
    steps.push_back(work.steps / point.seconds);
    sent.push_back(work.sent_bytes / point.seconds);
    reduced.push_back(work.reduced_bytes / point.seconds);
  }
  Columns columns{steps, sent};
  if (!collinear(sent, reduced)) columns.push_back(reduced);
  const auto [smallest, largest] =
      std::ranges::minmax(points, {}, [](const MeasuredWork& point) { return point.size_bytes; });
  if (points.size() <= columns.size() || smallest.size_bytes == largest.size_bytes) {
    return std::nullopt;
  }
  const std::vector<double> target(points.size(), 1.0);
  const std::vector<double> x = nonnegative_least_squares(columns, target);
  AllreduceFit fit;
  fit.alpha_seconds = x[0];
  fit.beta_seconds_per_byte = x[1];
  if (columns.size() == 3) fit.gamma_seconds_per_byte = x[2];
  fit.points = points.size();
  fit.smallest_bytes = smallest.size_bytes;
  fit.largest_bytes = largest.size_bytes;
  set_residuals(fit, points);
  return fit;
}

}  // namespace scalebench
