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
#include "collectives/allreduce.hpp"
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

AllreduceWork work_of(const AllreduceCall& call) {
  const Reach reach = reach_of(call.transport, call.on_device);
  const AllreduceCost cost =
      allreduce_named(call.algorithm).cost(call.ranks, call.count, call.ranks_on_node, reach);
  return {cost.steps, cost.sent * call.element_bytes, cost.reduced * call.element_bytes};
}

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
    {"register", &FitCase::registered}};

}  // namespace

std::string FitCase::label() const {
  std::string words;
  for (const auto& [column, member] : kOfCase) {
    if ((this->*member).empty()) continue;
    const bool says_itself = column != "register";
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

namespace {

using Cases = std::vector<std::vector<AllreducePoint>>;

/// In order of first appearance.
Cases by_case(const std::vector<AllreducePoint>& points) {
  Cases cases;
  for (const AllreducePoint& point : points) {
    auto found = std::ranges::find_if(
        cases, [&](const auto& points_of_case) { return points_of_case.front().of == point.of; });
    if (found == cases.end()) found = cases.insert(cases.end(), {{}});
    found->push_back(point);
  }
  return cases;
}

MeasuredWork measured_work(const AllreducePoint& point) {
  const double ranks = point.ranks;
  return {work_of({.algorithm = point.of.algorithm,
                   .transport = point.of.transport,
                   .on_device = point.of.memory == "device",
                   .ranks = ranks,
                   .ranks_on_node = ranks / point.nodes,
                   .count = point.count,
                   .element_bytes = point.element_bytes}),
          point.size_bytes(), point.seconds};
}

/// `points` are of one case.
ResultRow fit_row(std::vector<AllreducePoint> points, std::string_view run_id) {
  const FitCase of = points.front().of;
  const std::size_t left_out = std::erase_if(points, [](const auto& point) { return point.burst; });
  std::ranges::stable_sort(
      points, {}, [](const AllreducePoint& point) { return std::tuple(point.ranks, point.count); });
  std::vector<MeasuredWork> measured;
  std::set<int> ranks;
  for (const AllreducePoint& point : points) {
    measured.push_back(measured_work(point));
    ranks.insert(point.ranks);
  }
  ResultRow row(fits_schema());
  row.set("run_id", run_id).set("case_id", case_id("fit " + of.label())).set("origin", of.origin);
  row.set("label", of.label()).set("ranks", fmt::format("{}", fmt::join(ranks, ";")));
  row.set("points", points.size()).set("status", "ok");
  if (const std::optional<AllreduceFit> fit = fit_of(measured)) {
    row.set("alpha_seconds", fit->alpha_seconds);
    row.set("beta_seconds_per_byte", fit->beta_seconds_per_byte);
    row.set("residual", fit->rms_relative_residual);
    if (fit->gamma_seconds_per_byte) {
      row.set("gamma_seconds_per_byte", *fit->gamma_seconds_per_byte);
    } else {
      row.set("note", "beta holds what reducing costs too");
    }
  } else {
    row.set("status", "skipped").set("note", "a fit needs more points, of two sizes or more");
  }
  if (left_out > 0) {
    row.add_note(
        fmt::format("{} points left out that an emulated link's burst has touched", left_out));
  }
  return row;
}

}  // namespace

std::vector<ResultRow> fit_rows(const std::vector<ResultRow>& allreduce_rows,
                                std::string_view run_id) {
  std::vector<ResultRow> rows;
  for (const std::vector<AllreducePoint>& points : by_case(points_of(allreduce_rows))) {
    rows.push_back(fit_row(points, run_id));
  }
  return rows;
}

}  // namespace scalebench
