// SPDX-License-Identifier: Apache-2.0
#include "bench/study/laws/rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>

#include "bench/measure/statistics.hpp"
#include "bench/record/columns.hpp"
#include "bench/study/laws/laws.hpp"

namespace scalebench {
namespace {

using Points = std::vector<SpeedupAt>;
using Fit = std::optional<Law> (*)(std::span<const SpeedupAt> points);

constexpr std::array<std::string_view, 11> kCopied{
    "run_id",    "case_id", "origin",  "model",   "gradient_sync", "allreduce",
    "transport", "device",  "dataset", "scaling", "batch"};

ResultRow row_of(const MeasuredScaling& of, std::string_view law, std::string_view parameter) {
  ResultRow row(laws_schema());
  for (const std::string_view column : kCopied) row.set(column, of.like.get(column));
  if (!of.weak) row.set("batch", "").set("global_batch", of.like.get("global_batch"));
  return row.set("status", "ok").set("law", law).set("parameter", parameter);
}

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
    for (const auto& [n, speedup] : speedups) {
      points.push_back({static_cast<double>(n), speedup});
    }
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

FittedLaw fitted(Fit fit, const std::vector<Points>& rounds) {
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

void set_parameter(ResultRow& row, const FittedLaw& fitted, double Law::*parameter) {
  std::vector<double> values;
  for (const Law& law : fitted.laws) values.push_back(law.*parameter);
  const LaunchInterval interval = across_launches(values);
  set_interval(row, "value", interval);
  row.set("interval", interval_label(interval.kind, "rounds"));
  row.set("rms_residual", fitted.residual);
}

/// A round without a peak leaves the interval open: an end that is not known is no number.
void set_peak(ResultRow& row, const FittedLaw& fitted) {
  row.set("rms_residual", fitted.residual);
  const std::optional<double> middle = fitted.middle.peak();
  if (!middle) {
    row.set("status", "skipped").set("note", "kappa is not above 0: the speedup has no peak");
    return;
  }
  std::vector<double> peaks;
  for (const Law& law : fitted.laws) {
    if (const std::optional<double> peak = law.peak()) peaks.push_back(*peak);
  }
  if (peaks.size() < fitted.laws.size()) {
    row.set("value", *middle);
    row.set("note", fmt::format("in {} of {} rounds the speedup has no peak: no interval",
                                fitted.laws.size() - peaks.size(), fitted.laws.size()));
    return;
  }
  const LaunchInterval interval = across_launches(peaks);
  set_interval(row, "value", interval);
  row.set("interval", interval_label(interval.kind, "rounds"));
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

void add(std::vector<ResultRow>& rows, const MeasuredScaling& of) {
  const std::set<int> ranks = ranks_in(of);
  const std::vector<Points> rounds = complete_rounds(of, ranks.size() - 1);
  const std::string missing = why_not(of, ranks, rounds);
  const auto put = [&](std::string_view law, std::string_view parameter, const std::string& why,
                       const std::function<void(ResultRow&)>& fill) {
    ResultRow row = row_of(of, law, parameter);
    row.set("ranks_used", fmt::format("{}", fmt::join(ranks, ";"))).set("rounds", rounds.size());
    if (why.empty()) {
      fill(row);
    } else {
      row.set("status", "skipped").set("note", why);
    }
    rows.push_back(std::move(row));
  };
  const bool can = missing.empty();
  const FittedLaw amdahl = can ? fitted(fit_amdahl, rounds) : FittedLaw();
  const FittedLaw usl = can ? fitted(fit_usl, rounds) : FittedLaw();
  const std::string weak =
      of.weak ? "weak scaling: Amdahl's law is of the same work on more ranks" : "";
  put("amdahl", "sigma", weak.empty() ? missing : weak,
      [&](ResultRow& row) { set_parameter(row, amdahl, &Law::sigma); });
  put("usl", "sigma", missing, [&](ResultRow& row) { set_parameter(row, usl, &Law::sigma); });
  put("usl", "kappa", missing, [&](ResultRow& row) { set_parameter(row, usl, &Law::kappa); });
  put("usl", "peak_ranks", missing, [&](ResultRow& row) { set_peak(row, usl); });
}

}  // namespace

std::vector<ResultRow> law_rows(const std::vector<MeasuredScaling>& scalings) {
  std::vector<ResultRow> rows;
  for (const MeasuredScaling& of : scalings) add(rows, of);
  return rows;
}

}  // namespace scalebench
