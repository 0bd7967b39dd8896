// SPDX-License-Identifier: Apache-2.0
#include "bench/study/fit/fit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/measure/statistics.hpp"
#include "bench/record/columns.hpp"
#include "kernels/dtype.hpp"

namespace scalebench {
namespace {

/// Work as the model takes it: one step that sends the buffer once, where nobody knows more.
AllreduceWork modelled(const AllreduceWork& work, double size_bytes) {
  const bool known = !std::isnan(work.steps + work.sent_bytes + work.reduced_bytes);
  return known ? work : AllreduceWork{1, size_bytes, 0};
}

double rms_residual(const AllreduceFit& fit, std::span<const MeasuredWork> points) {
  double squares = 0;
  for (const MeasuredWork& point : points) {
    const double off = predicted_seconds(fit, point.work, point.size_bytes) / point.seconds - 1;
    squares += off * off;
  }
  return std::sqrt(squares / static_cast<double>(points.size()));
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
  fit.rms_relative_residual = rms_residual(fit, points);
  return fit;
}

namespace {

/// The columns that tell cases apart, with where a case has them.
constexpr std::pair<std::string_view, std::string FitCase::*> kOfCase[]{
    {"algorithm", &FitCase::algorithm},
    {"transport", &FitCase::transport},
    {"memory", &FitCase::memory},
    {"dtype", &FitCase::dtype},
    {"op", &FitCase::op},
    {"placement", &FitCase::placement},
    {"mode", &FitCase::mode},
    {"cache", &FitCase::cache},
    {"pages", &FitCase::pages},
    {"register", &FitCase::registered}};

}  // namespace

std::string FitCase::label() const {
  std::string words;
  for (const auto& [column, member] : kOfCase) {
    // Device memory has no pages, and NCCL alone is told of buffers.
    if ((this->*member).empty()) continue;
    const bool says_itself = column != "pages" && column != "register";
    words += (says_itself ? "" : std::string(column) + "=") + this->*member + " ";
  }
  return words + (one_node ? "one_host" : "several_hosts");
}

std::vector<AllreducePoint> points_of(const std::vector<ResultRow>& allreduce_rows) {
  std::vector<AllreducePoint> points;
  for (const ResultRow& row : allreduce_rows) {
    const double ranks = number_in(row, "ranks"), seconds = number_in(row, "seconds_median");
    const auto dtype = dtype_named(row.get("dtype"));
    const double element = dtype ? static_cast<double>(size_of(*dtype)) : std::nan("");
    const double count = std::floor(number_in(row, "size_bytes") / element);
    if (row.get("status") != "ok" || !(ranks > 1 && count > 0 && seconds > 0)) continue;
    const double nodes = number_in(row, "nodes");
    AllreducePoint& point = points.emplace_back();
    FitCase& of = point.of;
    for (const auto& [column, member] : kOfCase) of.*member = row.get(column);
    of.origin = row.get("origin");
    of.one_node = !(nodes > 1);
    point.ranks = static_cast<int>(ranks);
    point.nodes = nodes > 1 ? static_cast<int>(nodes) : 1;
    point.element_bytes = element;
    point.count = count;
    point.seconds = seconds;
    point.burst = row.get("note").find(kBurstNote) != std::string::npos;
  }
  return points;
}

}  // namespace scalebench
