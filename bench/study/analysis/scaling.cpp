// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/scaling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "bench/study/analysis/losses.hpp"
#include "bench/study/analysis/rows.hpp"
#include "kernels/error.hpp"

namespace scalebench {

Scaling scaling_of(TimeWithInterval h, double samples_at_one, TimeWithInterval t,
                   double samples_at_n, int devices) {
  const bool possible =
      h.seconds > 0 && t.seconds > 0 && samples_at_one > 0 && samples_at_n > 0 && devices > 0;
  if (!possible) {
    fail("no speedup from H = {} s over {} samples and T = {} s over {} samples on {} devices",
         h.seconds, samples_at_one, t.seconds, samples_at_n, devices);
  }
  const double n = devices;
  // One side without an interval is taken as exact: a single launch has none.
  const auto end = [](double bound, double value) { return std::isnan(bound) ? value : bound; };
  const bool any_interval = !std::isnan(h.low) || !std::isnan(t.low);
  Scaling scaling;
  scaling.ideal_seconds = h.seconds / n;
  scaling.rho = samples_at_n / samples_at_one;
  scaling.speedup = scaling.rho * h.seconds / t.seconds;
  scaling.speedup_low = scaling.speedup_high = std::numeric_limits<double>::quiet_NaN();
  if (any_interval) {
    scaling.speedup_low = scaling.rho * end(h.low, h.seconds) / end(t.high, t.seconds);
    scaling.speedup_high = scaling.rho * end(h.high, h.seconds) / end(t.low, t.seconds);
  }
  scaling.efficiency = scaling.speedup / n;
  scaling.efficiency_low = scaling.speedup_low / n;
  scaling.efficiency_high = scaling.speedup_high / n;
  scaling.karp_flatt = devices > 1 ? (1 / scaling.speedup - 1 / n) / (1 - 1 / n)
                                   : std::numeric_limits<double>::quiet_NaN();
  scaling.lost_seconds = t.seconds - scaling.rho * scaling.ideal_seconds;
  return scaling;
}

StatisticalEfficiency statistical_efficiency(double epochs_at_one, double epochs_at_n,
                                             double efficiency) {
  const double statistical = epochs_at_one / epochs_at_n;
  return {statistical, efficiency * statistical};
}

namespace {

constexpr std::array<std::string_view, 17> kOfLeg{
    "schema_version", "run_id",    "case_id",   "origin",       "model",   "parameters",
    "gradient_sync",  "allreduce", "transport", "device",       "dataset", "scaling",
    "ranks",          "nodes",     "batch",     "global_batch", "dilation"};

/// The leg on one rank with this strategy; among several, that of the most similar amount of work.
const ResultRow* baseline(const std::vector<const ResultRow*>& rows, const ResultRow& leg,
                          std::string_view sync) {
  const ResultRow* nearest = nullptr;
  const auto distance = [&](const ResultRow& row) {
    return std::abs(number_in(row, "samples") - number_in(leg, "samples"));
  };
  for (const ResultRow* row : rows) {
    const bool is_one =
        row->get("gradient_sync") == sync && row->get("ranks") == "1" && !is_share(*row);
    if (!is_one || row->get("status") != "ok" || !comparable(leg, *row)) continue;
    if (nearest == nullptr || distance(*row) < distance(*nearest)) nearest = row;
  }
  return nearest;
}

TimeWithInterval time_of(const ResultRow& row) {
  return {number_in(row, "seconds_median"), number_in(row, "seconds_ci_low"),
          number_in(row, "seconds_ci_high")};
}

Scaling scaling_of(const ResultRow& leg, const ResultRow& one) {
  return scaling_of(time_of(one), number_in(one, "samples"), time_of(leg),
                    number_in(leg, "samples"), static_cast<int>(number_in(leg, "ranks")));
}

void set_scaling(ResultRow& row, const ResultRow& leg, const ResultRow& one) {
  const Scaling scaling = scaling_of(leg, one);
  row.set("baseline", one.get("gradient_sync")).set("h_seconds", number_in(one, "seconds_median"));
  row.set("ideal_seconds", scaling.ideal_seconds).set("rho", scaling.rho);
  row.set("speedup", scaling.speedup).set("speedup_ci_low", scaling.speedup_low);
  row.set("speedup_ci_high", scaling.speedup_high).set("efficiency", scaling.efficiency);
  row.set("efficiency_ci_low", scaling.efficiency_low);
  row.set("efficiency_ci_high", scaling.efficiency_high);
  const StatisticalEfficiency statistical = statistical_efficiency(
      number_in(one, "epochs_to_target"), number_in(leg, "epochs_to_target"), scaling.efficiency);
  row.set("efficiency_statistical", statistical.statistical);
  row.set("efficiency_to_accuracy", statistical.to_accuracy);
  row.set("karp_flatt", scaling.karp_flatt).set("lost_seconds", scaling.lost_seconds);
}

ResultRow scaling_row(const ResultRow& leg, const std::vector<const ResultRow*>& rows) {
  ResultRow row(scaling_schema());
  for (const std::string_view column : kOfLeg) row.set(column, leg.get(column));
  row.set("status", leg.get("status")).set("note", leg.get("note"));
  if (leg.get("status") != "ok") return row;
  for (const std::string_view column :
       {"seconds_median", "seconds_ci_low", "seconds_ci_high", "interval", "launches",
        "test_accuracy", "target_accuracy", "epochs_to_target", "seconds_to_target"}) {
    row.set(column, leg.get(column));
  }
  const ResultRow* one = baseline(rows, leg, "one_device");
  const ResultRow* raw = baseline(rows, leg, "none");
  // H is one real device; legs whose ranks share a core are emulated and have no true speedup, so
  // only a base of the same kind will do.
  const auto same_origin = [&](const ResultRow* base) {
    return base != nullptr && base->get("origin") == leg.get("origin");
  };
  if (same_origin(raw)) {
    row.set("h_raw_seconds", number_in(*raw, "seconds_median"));
    row.set("efficiency_raw", scaling_of(leg, *raw).efficiency);
  }
  if (same_origin(one)) {
    set_scaling(row, leg, *one);
    set_losses(row, leg, *one, rows);
  } else if (one != nullptr) {
    row.set("note", "no speedup: H is " + one->get("origin") + ", this is " + leg.get("origin"));
  } else {
    row.set("status", "failed").set("note", "H is missing: no one_device epoch on one rank");
  }
  return row;
}

}  // namespace

std::vector<ResultRow> scaling_rows(const std::vector<ResultRow>& epoch_rows) {
  std::vector<const ResultRow*> legs;
  for (const ResultRow& row : epoch_rows) {
    if (row.get("rank") == "all") legs.push_back(&row);
  }
  std::vector<ResultRow> rows;
  for (const ResultRow* leg : legs) {
    // A share of an epoch is no epoch.
    if (!is_share(*leg)) rows.push_back(scaling_row(*leg, legs));
  }
  std::ranges::stable_sort(rows, [](const ResultRow& a, const ResultRow& b) {
    const auto key = [](const ResultRow& row) {
      return std::tuple(row.get("model"), row.get("scaling"), std::stoi(row.get("ranks")),
                        row.get("gradient_sync"), row.get("nodes"));
    };
    return key(a) < key(b);
  });
  return rows;
}

}  // namespace scalebench
