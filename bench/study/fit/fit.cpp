// SPDX-License-Identifier: Apache-2.0
#include "bench/study/fit/fit.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
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
  set_residuals(fit, points);
  return fit;
}

namespace {

AllreduceWork work_of(const AllreducePoint& point, const FitModel& model) {
  const double ranks = point.ranks;
  return model.work_of({.algorithm = point.of.algorithm,
                        .transport = point.of.transport,
                        .on_device = point.of.memory == "device",
                        .ranks = ranks,
                        .ranks_on_node = ranks / point.nodes,
                        .count = point.count,
                        .element_bytes = point.element_bytes});
}

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

ResultRow row_of(const FitCase& of, std::string_view run_id) {
  ResultRow row(fit_schema());
  row.set("run_id", run_id).set("status", "ok");
  std::string canonical = "fit";
  for (const auto& [column, member] : kOfCase) {
    row.set(column, of.*member);
    // Device memory has no pages, and NCCL alone is told of buffers.
    if (!(of.*member).empty()) canonical += fmt::format(" {}={}", column, of.*member);
  }
  canonical += fmt::format(" one_node={}", of.one_node);
  return row.set("origin", of.origin).set("case_id", case_id(canonical));
}

/// "2;4": the different values of a member over the points.
std::string values(const std::vector<AllreducePoint>& points, int AllreducePoint::*member) {
  std::set<int> different;
  for (const AllreducePoint& point : points) different.insert(point.*member);
  return fmt::format("{}", fmt::join(different, ";"));
}

}  // namespace

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

std::vector<FitRow> fits_of(const std::vector<AllreducePoint>& points, const FitModel& model) {
  std::vector<FitRow> fits;
  for (const AllreducePoint& point : points) {
    auto found = std::ranges::find(fits, point.of, &FitRow::of);
    if (found == fits.end()) found = fits.insert(fits.end(), {point.of, {}});
    if (point.burst) {
      ++found->left_out;
    } else {
      found->points.push_back(point);
    }
  }
  for (FitRow& row : fits) {
    std::ranges::stable_sort(row.points, {}, [](const AllreducePoint& point) {
      return std::tuple(point.ranks, point.count);
    });
    std::vector<MeasuredWork> measured;
    for (const AllreducePoint& point : row.points) {
      measured.push_back({work_of(point, model), point.size_bytes(), point.seconds});
    }
    row.fit = fit_of(measured);
  }
  return fits;
}

std::vector<ResultRow> fit_rows(const std::vector<FitRow>& fits, std::string_view run_id) {
  std::vector<ResultRow> rows;
  for (const FitRow& one : fits) {
    ResultRow& row = rows.emplace_back(row_of(one.of, run_id));
    row.set("ranks", values(one.points, &AllreducePoint::ranks));
    row.set("nodes", values(one.points, &AllreducePoint::nodes));
    row.set("points", one.points.size());
    const auto note = [&](std::string text) {
      if (one.left_out > 0) {
        text += fmt::format("{}{} points left out that an emulated link's burst has touched",
                            text.empty() ? "" : "; ", one.left_out);
      }
      row.set("note", text);
    };
    if (!one.fit) {
      row.set("status", "skipped");
      note("a fit needs more points, of two sizes or more");
      continue;
    }
    const AllreduceFit& fit = *one.fit;
    row.set("alpha_seconds", fit.alpha_seconds);
    row.set("beta_seconds_per_byte", fit.beta_seconds_per_byte);
    if (fit.gamma_seconds_per_byte) {
      row.set("gamma_seconds_per_byte", *fit.gamma_seconds_per_byte);
    }
    note(fit.gamma_seconds_per_byte ? "" : "beta holds what reducing costs too");
    row.set("rms_relative_residual", fit.rms_relative_residual);
    row.set("worst_relative_residual", fit.worst_relative_residual);
    row.set("worst_bytes", fit.worst_bytes);
  }
  return rows;
}

}  // namespace scalebench
