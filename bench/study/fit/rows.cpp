// SPDX-License-Identifier: Apache-2.0
#include "bench/study/fit/rows.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "bench/measure/statistics.hpp"
#include "bench/record/columns.hpp"
#include "bench/study/fit/laws.hpp"

namespace scalebench {
namespace {

/// A row of one fit, to be copied for each of its parameters.
ResultRow row_of(const std::string& label, const std::set<int>& ranks, std::size_t points) {
  ResultRow row(fits_schema());
  row.set("status", "ok").set("label", label).set("points", points);
  return row.set("ranks", fmt::format("{}", fmt::join(ranks, ";")));
}

void skip(ResultRow& row, const std::string& why) { row.set("status", "skipped").set("note", why); }

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

MeasuredWork work_of(const AllreducePoint& point, const FitModel& model) {
  const double ranks = point.ranks;
  return {model.work_of({.algorithm = point.of.algorithm,
                         .transport = point.of.transport,
                         .on_device = point.of.memory == "device",
                         .ranks = ranks,
                         .ranks_on_node = ranks / point.nodes,
                         .count = point.count,
                         .element_bytes = point.element_bytes}),
          point.size_bytes(), point.seconds};
}

void add_cost_model(std::vector<ResultRow>& rows, std::vector<AllreducePoint> points,
                    const FitModel& model, std::string_view run_id) {
  const FitCase of = points.front().of;
  const std::size_t left_out = std::erase_if(points, [](const auto& point) { return point.burst; });
  std::ranges::stable_sort(
      points, {}, [](const AllreducePoint& point) { return std::tuple(point.ranks, point.count); });
  std::vector<MeasuredWork> measured;
  std::set<int> ranks;
  for (const AllreducePoint& point : points) {
    measured.push_back(work_of(point, model));
    ranks.insert(point.ranks);
  }
  ResultRow row = row_of(of.label(), ranks, points.size());
  row.set("run_id", run_id).set("origin", of.origin).set("law", "alpha_beta_gamma");
  row.set("case_id", case_id("fit " + of.label()));
  const std::optional<AllreduceFit> fit = fit_of(measured);
  const auto put = [&](std::string_view parameter, std::optional<double> value,
                       const std::string& why_not) {
    ResultRow& one = rows.emplace_back(row);
    one.set("parameter", parameter);
    if (fit && value) {
      one.set("value", *value).set("residual", fit->rms_relative_residual);
    } else {
      skip(one, fit ? why_not : "a fit needs more points, of two sizes or more");
    }
    if (left_out == 0) return;
    one.add_note(
        fmt::format("{} points left out that an emulated link's burst has touched", left_out));
  };
  const AllreduceFit found = fit.value_or(AllreduceFit());
  put("alpha_seconds", found.alpha_seconds, "");
  put("beta_seconds_per_byte", found.beta_seconds_per_byte, "");
  put("gamma_seconds_per_byte", found.gamma_seconds_per_byte, "beta holds what reducing costs too");
}

using Points = std::vector<SpeedupAt>;

std::set<int> ranks_in(const MeasuredScaling& of) {
  std::set<int> ranks{1};
  for (const auto& [round, speedups] : of.speedups) {
    for (const auto& [n, speedup] : speedups) ranks.insert(n);
  }
  return ranks;
}

/// The points of the rounds that have every N: a fit to others would differ for want of points.
std::vector<Points> complete_rounds(const MeasuredScaling& of, std::size_t above_one) {
  std::vector<Points> rounds;
  for (const auto& [round, speedups] : of.speedups) {
    if (speedups.size() != above_one) continue;
    Points& points = rounds.emplace_back();
    for (const auto& [n, speedup] : speedups) points.push_back({static_cast<double>(n), speedup});
  }
  return rounds;
}

/// Of each N the median over rounds: what the published parameters are compared with.
Points middle_of(const std::vector<Points>& rounds) {
  Points middle = rounds.front();
  for (std::size_t i = 0; i < middle.size(); ++i) {
    std::vector<double> speedups;
    for (const Points& points : rounds) speedups.push_back(points[i].speedup);
    middle[i].speedup = median_of(speedups);
  }
  return middle;
}

struct FittedLaw {
  std::vector<Law> laws;  // a round each
  Law middle;             // the medians of the parameters
  double residual = 0;
};

FittedLaw fitted(std::optional<Law> (*fit)(std::span<const SpeedupAt>),
                 const std::vector<Points>& rounds) {
  FittedLaw found;
  std::vector<double> sigmas, kappas;
  for (const Points& points : rounds) {
    const std::optional<Law> law = fit(points);
    if (!law) continue;
    found.laws.push_back(*law);
    sigmas.push_back(law->sigma);
    kappas.push_back(law->kappa);
  }
  found.middle = {median_of(sigmas), median_of(kappas)};
  found.residual = rms_residual(found.middle, middle_of(rounds));
  return found;
}

/// A parameter of a law; nothing where it has none.
using Parameter = std::optional<double> (*)(const Law& law);

/// A round without the parameter leaves the interval open: an end that is not known is no number.
/// So do fewer rounds than an interval of 95 % needs.
void set_parameter(ResultRow& row, const FittedLaw& fitted, Parameter parameter) {
  row.set("residual", fitted.residual);
  const std::optional<double> middle = parameter(fitted.middle);
  if (!middle) return skip(row, "kappa is not above 0: the speedup has no peak");
  std::vector<double> values;
  for (const Law& law : fitted.laws) {
    if (const std::optional<double> value = parameter(law)) values.push_back(*value);
  }
  const std::size_t without = fitted.laws.size() - values.size();
  if (without > 0) {
    row.set("note", fmt::format("in {} of {} rounds the speedup has no peak: no interval", without,
                                fitted.laws.size()));
  }
  LaunchInterval interval = across_launches(without > 0 ? std::vector{*middle} : values);
  if (interval.kind != "95%") interval.low = interval.high = std::nan("");
  set_interval(row, "value", interval);
}

std::string why_not(const MeasuredScaling& of, const std::set<int>& ranks,
                    const std::vector<Points>& rounds) {
  if (!of.ambiguous.empty()) return of.ambiguous;
  if (ranks.size() < kFewestNForLaws) {
    return fmt::format("too few N: {}, and at least {} are needed", fmt::join(ranks, ", "),
                       kFewestNForLaws);
  }
  return rounds.empty() ? "no round has all N" : "";
}

std::string label_of(const MeasuredScaling& of) {
  std::string words;
  for (const char* column :
       {"model", "gradient_sync", "allreduce", "transport", "device", "dataset", "scaling"}) {
    const std::string& word = of.like.get(column);
    if (!word.empty()) words += word + " ";
  }
  const char* const batch = of.weak ? "batch" : "global_batch";
  return words + fmt::format("{}={}", batch, of.like.get(batch));
}

void add_laws(std::vector<ResultRow>& rows, const MeasuredScaling& of) {
  const std::set<int> ranks = ranks_in(of);
  const std::vector<Points> rounds = complete_rounds(of, ranks.size() - 1);
  const std::string missing = why_not(of, ranks, rounds);
  ResultRow row = row_of(label_of(of), ranks, rounds.size());
  for (const char* column : {"run_id", "case_id", "origin"}) row.set(column, of.like.get(column));
  const FittedLaw none;
  const FittedLaw amdahl = missing.empty() ? fitted(fit_amdahl, rounds) : none;
  const FittedLaw usl = missing.empty() ? fitted(fit_usl, rounds) : none;
  const auto put = [&](std::string_view law, std::string_view parameter, const std::string& why,
                       const FittedLaw& fitted, Parameter value) {
    ResultRow& one = rows.emplace_back(row);
    one.set("law", law).set("parameter", parameter);
    if (!why.empty()) return skip(one, why);
    set_parameter(one, fitted, value);
  };
  const Parameter sigma = [](const Law& law) { return std::optional(law.sigma); };
  const Parameter kappa = [](const Law& law) { return std::optional(law.kappa); };
  put("amdahl", "sigma",
      of.weak ? "weak scaling: Amdahl's law is of the same work on more ranks" : missing, amdahl,
      sigma);
  put("usl", "sigma", missing, usl, sigma);
  put("usl", "kappa", missing, usl, kappa);
  put("usl", "peak_ranks", missing, usl, [](const Law& law) { return law.peak(); });
}

}  // namespace

std::vector<ResultRow> fit_rows(const std::vector<ResultRow>& allreduces, const FitModel& model,
                                const std::vector<MeasuredScaling>& scalings,
                                std::string_view run_id) {
  std::vector<ResultRow> rows;
  for (const std::vector<AllreducePoint>& points : by_case(points_of(allreduces))) {
    add_cost_model(rows, points, model, run_id);
  }
  for (const MeasuredScaling& of : scalings) add_laws(rows, of);
  return rows;
}

}  // namespace scalebench
