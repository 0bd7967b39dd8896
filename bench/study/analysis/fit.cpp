// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/fit.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "bench/measure/statistics.hpp"
#include "bench/record/columns.hpp"
#include "bench/study/analysis/legs.hpp"
#include "bench/study/analysis/rows.hpp"

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
    {"graph", &FitCase::graph},
    {"pages", &FitCase::pages},
    {"register", &FitCase::registered}};

/// `more`: of the case's name, behind what tells cases apart.
ResultRow row_of(const Schema& schema, const FitCase& of, std::string_view run_id,
                 std::string_view more = "") {
  ResultRow row(schema);
  row.set("schema_version", kSchemaVersion).set("run_id", run_id).set("status", "ok");
  std::string canonical = "fit";
  for (const auto& [column, member] : kOfCase) {
    row.set(column, of.*member);
    // Device memory has no pages, and runs of earlier versions keep their names.
    const bool named = (column != "pages" || !(of.*member).empty()) &&
                       (column != "register" || !of.is_registered_as_ever());
    if (named) canonical += fmt::format(" {}={}", column, of.*member);
  }
  canonical += fmt::format(" one_node={}{}", of.one_node, more);
  return row.set("origin", of.origin).set("case_id", case_id(canonical));
}

/// "2;4": the different values of a member over the points.
std::string values(const std::vector<AllreducePoint>& points, int AllreducePoint::*member) {
  std::set<int> different;
  for (const AllreducePoint& point : points) different.insert(point.*member);
  return fmt::format("{}", fmt::join(different, ";"));
}

std::size_t sizes_of(const std::vector<AllreducePoint>& points) {
  std::set<double> sizes;
  for (const AllreducePoint& point : points) sizes.insert(point.size_bytes());
  return sizes.size();
}

}  // namespace

std::vector<AllreducePoint> points_of(const std::vector<ResultRow>& allreduce_rows) {
  std::vector<AllreducePoint> points;
  for (const ResultRow& row : allreduce_rows) {
    const double ranks = number_in(row, "ranks");
    const double count = number_in(row, "count");
    const double seconds = number_in(row, "seconds_median");
    const bool usable = row.get("status") == "ok" && ranks > 1 && count > 0 && seconds > 0;
    if (!usable) continue;
    const double nodes = number_in(row, "nodes");
    AllreducePoint& point = points.emplace_back();
    FitCase& of = point.of;
    for (const auto& [column, member] : kOfCase) of.*member = row.get(column);
    of.origin = row.get("origin");
    of.one_node = !(nodes > 1);
    point.ranks = static_cast<int>(ranks);
    point.nodes = nodes > 1 ? static_cast<int>(nodes) : 1;
    point.element_bytes = number_in(row, "size_bytes") / count;
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
    ResultRow& row = rows.emplace_back(row_of(fit_schema(), one.of, run_id));
    row.set("ranks", values(one.points, &AllreducePoint::ranks));
    row.set("nodes", values(one.points, &AllreducePoint::nodes));
    row.set("sizes", sizes_of(one.points)).set("points", one.points.size());
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
    row.set("smallest_bytes", fit.smallest_bytes).set("largest_bytes", fit.largest_bytes);
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

std::vector<ResultRow> fit_point_rows(const std::vector<FitRow>& fits, const FitModel& model,
                                      std::string_view run_id) {
  std::vector<ResultRow> rows;
  for (const FitRow& one : fits) {
    if (!one.fit) continue;
    for (const AllreducePoint& point : one.points) {
      const double seconds = predicted_seconds(*one.fit, work_of(point, model), point.size_bytes());
      ResultRow& row = rows.emplace_back(
          row_of(fit_points_schema(), one.of, run_id, fmt::format(" count={}", point.count)));
      // Of emulated ranks it stays that: a prediction from them says nothing about N devices.
      row.set("origin", "predicted");
      row.set("note",
              one.of.origin == "measured" ? "" : "fitted to rows that are " + one.of.origin);
      row.set("size_bytes", point.size_bytes()).set("ranks", point.ranks).set("nodes", point.nodes);
      row.set("seconds", seconds);
      row.set("busbw_gb_per_s", busbw_gb_per_s(point.size_bytes(), seconds, point.ranks));
      row.set("relative_residual", (seconds - point.seconds) / point.seconds);
    }
  }
  return rows;
}

namespace {

constexpr double kGiga = 1e9;

/// These send every gradient once a step, in one allreduce or in parts whose bytes sum to it.
constexpr auto kByAllreduce = std::to_array<std::string_view>(
    {"mirrored", "multi_worker", "naive", "bucketed_overlap", "horovod"});

struct LinkRate {
  double gb_per_s = std::nan("");
  std::string basis;  // the file; without a rate: why there is none
};

struct Traffic {
  double bytes = std::nan("");  // sent by the busiest rank in an epoch
  double message_bytes = 0;     // all gradients
  std::string unknown{};        // why bytes are not known
};

Traffic traffic_of(const ResultRow& leg, const FitModel& model) {
  constexpr double kFloatBytes = 4;
  Traffic traffic;
  const double parameters = number_in(leg, "parameters"), ranks = number_in(leg, "ranks");
  const std::string& sync = leg.get("gradient_sync");
  if (std::ranges::find(kByAllreduce, sync) == kByAllreduce.end()) {
    traffic.unknown = sync + " does not send all gradients by an allreduce";
  } else if (leg.get("dtype") != "float") {
    traffic.unknown = "how wide gradients of " + leg.get("dtype") + " travel is not recorded";
  } else if (leg.get("allreduce").empty() || !(parameters > 0)) {
    traffic.unknown = "the allreduce or the number of gradients is not recorded";
  }
  if (!traffic.unknown.empty()) return traffic;
  const double nodes = std::max(1.0, number_in(leg, "nodes"));
  const double steps = number_in(leg, "samples") / (number_in(leg, "batch") * ranks);
  const AllreduceWork work = model.work_of({.algorithm = leg.get("allreduce"),
                                            .transport = leg.get("transport"),
                                            .on_device = leg.get("device").starts_with("cuda"),
                                            .ranks = ranks,
                                            .ranks_on_node = ranks / nodes,
                                            .count = parameters,
                                            .element_bytes = kFloatBytes});
  traffic.message_bytes = kFloatBytes * parameters;
  traffic.bytes = steps * work.sent_bytes;
  if (std::isnan(traffic.bytes)) {
    traffic.unknown = "what " + leg.get("allreduce") + " sends is known to its library alone";
  }
  return traffic;
}

/// Of rows with those ranks over that transport the one of the nearest size, of several the best.
/// A size more than 4 times larger or smaller says nothing of this one.
double best_busbw(const std::vector<ResultRow>& rows, const ResultRow& leg, double bytes) {
  constexpr double kNear = 4;
  const std::string memory = leg.get("device").starts_with("cpu") ? "host" : "device";
  double nearest = kNear, best = std::nan("");
  for (const ResultRow& row : rows) {
    const bool same = row.get("status") == "ok" && row.get("origin") == leg.get("origin") &&
                      row.get("ranks") == leg.get("ranks") && row.get("memory") == memory &&
                      row.get("transport") == leg.get("transport") &&
                      (leg.get("nodes").empty() || row.get("nodes") == leg.get("nodes"));
    const double size = number_in(row, "size_bytes"), rate = number_in(row, "busbw_gb_per_s");
    if (!same || !(size > 0) || !(rate > 0)) continue;
    const double ratio = std::max(size / bytes, bytes / size);
    if (ratio > nearest) continue;
    best = ratio < nearest ? rate : std::fmax(best, rate);
    nearest = ratio;
  }
  return best;
}

LinkRate between_nodes(const std::vector<ResultRow>& links, const ResultRow& leg) {
  LinkRate slowest{std::nan(""), "no link between hosts was measured"};
  for (const ResultRow& row : links) {
    const bool is_pair = row.get("from_host") != "all" && row.get("to_host") != "all";
    if (!is_pair || row.get("status") != "ok" || row.get("origin") != leg.get("origin")) continue;
    slowest.gb_per_s = std::fmin(slowest.gb_per_s, number_in(row, "gb_per_s"));
    slowest.basis = links_schema().file;
  }
  return slowest;
}

LinkRate inside_a_node(const std::vector<ResultRow>& allreduce, const std::vector<ResultRow>& bound,
                       const ResultRow& leg, double bytes) {
  const double allowed = best_busbw(bound, leg, bytes);
  if (!std::isnan(allowed)) return {allowed, std::string(bound_schema().file)};
  const double reached = best_busbw(allreduce, leg, bytes);
  if (!std::isnan(reached)) return {reached, std::string(allreduce_schema().file)};
  return {std::nan(""),
          fmt::format("nothing of about {:.0f} bytes was measured over {} on {} ranks", bytes,
                      leg.get("transport"), leg.get("ranks"))};
}

/// Seconds in which gradients were moving: exposed, under the backward pass, or beside it.
double seconds_moving(const ResultRow& row) {
  const double exposed = number_in(row, "transfer_seconds");
  double sum = exposed;
  for (const char* aside : {"hidden_seconds", "concurrent_seconds"}) {
    const double seconds = number_in(row, aside);
    if (seconds > 0) sum += seconds;
  }
  return sum;
}

void set_link_share(ResultRow& row, const ResultRow& leg, const RowsByRound& rounds,
                    const Traffic& traffic, const LinkRate& link) {
  ByRound rates;  // GB/s in each round
  for (const auto& [round, one] : rounds) {
    const double seconds = seconds_moving(*one);
    if (seconds > 0) rates.emplace(round, traffic.bytes / seconds / kGiga);
  }
  if (rates.empty() && seconds_moving(leg) > 0) {
    rates.emplace(0, traffic.bytes / seconds_moving(leg) / kGiga);
  }
  row.set("gradient_bytes_sent", traffic.bytes);
  if (rates.empty()) {
    row.set("link_basis", "how long gradients moved is not recorded");
    return;
  }
  const LaunchInterval rate = across_rounds(rates);
  row.set("gradient_gb_per_s", rate.median).set("link_gb_per_s", link.gb_per_s);
  set_interval(row, "link_share", rate, 1 / link.gb_per_s);
  row.set("link_basis", link.basis);
}

}  // namespace

void set_link_shares(std::vector<ResultRow>& scaling_rows, const std::vector<ResultRow>& epoch_rows,
                     const std::vector<LaunchRows>& launches,
                     const std::vector<ResultRow>& allreduce_rows,
                     const std::vector<ResultRow>& bound_rows,
                     const std::vector<ResultRow>& link_rows, const FitModel& model) {
  const Rounds rounds(launches);
  for (const ResultRow* leg : legs_of(epoch_rows)) {
    const bool communicates = leg->get("status") == "ok" && ranks_of(*leg) > 1 && !is_share(*leg) &&
                              leg->get("gradient_sync") != "none" &&
                              leg->get("gradient_sync") != "barrier_only";
    const auto row = std::ranges::find_if(scaling_rows, [&](const ResultRow& one) {
      return std::ranges::all_of(std::to_array({"case_id", "origin", "ranks", "nodes"}),
                                 [&](auto column) { return one.get(column) == leg->get(column); });
    });
    if (!communicates || row == scaling_rows.end()) continue;
    const Traffic traffic = traffic_of(*leg, model);
    if (!traffic.unknown.empty()) {
      row->set("link_basis", traffic.unknown);
      continue;
    }
    const bool several = number_in(*leg, "nodes") > 1;
    set_link_share(*row, *leg, rounds.of(*leg), traffic,
                   several
                       ? between_nodes(link_rows, *leg)
                       : inside_a_node(allreduce_rows, bound_rows, *leg, traffic.message_bytes));
  }
}

}  // namespace scalebench
