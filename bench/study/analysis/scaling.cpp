// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <tuple>

#include "bench/record/columns.hpp"
#include "bench/study/analysis/rows.hpp"
#include "kernels/error.hpp"

namespace scalebench {

Scaling scaling_of(double h, double samples_at_one, double t, double samples_at_n, int devices,
                   Work work) {
  const bool possible = h > 0 && t > 0 && samples_at_one > 0 && samples_at_n > 0 && devices > 0;
  if (!possible) {
    fail("no speedup from H = {} s over {} samples and T = {} s over {} samples on {} devices", h,
         samples_at_one, t, samples_at_n, devices);
  }
  const double n = devices;
  Scaling scaling;
  scaling.rho = samples_at_n / samples_at_one;
  scaling.ideal_seconds = work == Work::weak ? scaling.rho * h / n : h / n;
  scaling.speedup = scaling.rho * h / t;
  scaling.efficiency = scaling.speedup / n;
  scaling.karp_flatt = devices > 1 ? (1 / scaling.speedup - 1 / n) / (1 - 1 / n) : std::nan("");
  scaling.lost_seconds = t - scaling.rho * h / n;
  return scaling;
}

ByRound efficiencies(const ByRound& h, const ByRound& t, double rho, int devices) {
  return in_rounds(h, t, [&](double one, double n) { return rho * one / (devices * n); });
}

namespace {

constexpr std::array<std::string_view, 16> kOfLeg{
    "run_id",    "case_id",      "origin",    "model",        "gradient_sync", "allreduce",
    "transport", "device",       "dataset",   "scaling",      "ranks",         "nodes",
    "batch",     "global_batch", "optimizer", "learning_rate"};

Scaling scaling_of(const ResultRow& leg, const ResultRow& one) {
  return scaling_of(number_in(one, "seconds_median"), number_in(one, "samples"),
                    number_in(leg, "seconds_median"), number_in(leg, "samples"), ranks_of(leg),
                    work_of(leg));
}

ByRound seconds_of(const RowsByRound& rows) { return column_of(rows, "seconds_median"); }

ByRound paired_efficiencies(const ResultRow& leg, const ResultRow& one, const Rounds& rounds) {
  return efficiencies(seconds_of(rounds.of(one)), seconds_of(rounds.of(leg)), rho_of(leg, one),
                      ranks_of(leg));
}

/// What more ranks cost in epochs, in each round that reached the target on one; 0 where N did not.
ByRound statistical_efficiencies(const ResultRow& leg, const ResultRow& one, const Rounds& rounds) {
  ByRound ratios;
  const RowsByRound& at_n = rounds.of(leg);
  for (const auto& [round, row] : rounds.of(one)) {
    const auto found = at_n.find(round);
    const double epochs = number_in(*row, "epochs_to_target");
    if (found == at_n.end() || std::isnan(epochs)) continue;
    const double of_n = number_in(*found->second, "epochs_to_target");
    ratios.emplace(round, std::isnan(of_n) ? 0 : epochs / of_n);
  }
  return ratios;
}

void set_statistical(ResultRow& row, const ResultRow& leg, const ResultRow& one,
                     const ByRound& efficiency, const Rounds& rounds) {
  const ByRound ratios = statistical_efficiencies(leg, one, rounds);
  const LaunchInterval statistical = across_rounds(ratios);
  if (!(statistical.median > 0)) return;  // most rounds never reached it
  set_interval(row, "efficiency_statistical", statistical);
  row.set("efficiency_to_accuracy",
          across_rounds(in_rounds(efficiency, ratios, std::multiplies())).median);
}

void set_scaling(ResultRow& row, const ResultRow& leg, const ResultRow& one, const Rounds& rounds) {
  const Scaling of_medians = scaling_of(leg, one);
  row.set("h_seconds", number_in(one, "seconds_median"));
  row.set("ideal_seconds", of_medians.ideal_seconds).set("rho", of_medians.rho);
  const double n = ranks_of(leg);
  const ByRound efficiency = paired_efficiencies(leg, one, rounds);
  row.set("rounds", efficiency.size());
  if (efficiency.empty()) {
    row.set("speedup", of_medians.speedup).set("efficiency", of_medians.efficiency);
    row.set("karp_flatt", of_medians.karp_flatt).set("lost_seconds", of_medians.lost_seconds);
    if (&leg != &one) {
      row.add_note("no round has both T(1) and T(N): a ratio of medians, without an interval");
    }
    return;
  }
  const LaunchInterval ratio = across_rounds(efficiency);
  set_interval(row, "speedup", ratio, n);
  set_interval(row, "efficiency", ratio);
  row.set("speedup_interval", interval_label(ratio.kind, "rounds"));
  set_statistical(row, leg, one, efficiency, rounds);
  if (n > 1) row.set("karp_flatt", (1 / (n * ratio.median) - 1 / n) / (1 - 1 / n));
  const ByRound lost = in_rounds(seconds_of(rounds.of(leg)), seconds_of(rounds.of(one)),
                                 [&](double t, double h) { return t - of_medians.rho * h / n; });
  row.set("lost_seconds", across_rounds(lost).median);
}

void set_raw(ResultRow& row, const ResultRow& leg, const ResultRow& raw, const Rounds& rounds) {
  const ByRound efficiency = paired_efficiencies(leg, raw, rounds);
  if (efficiency.empty()) {
    row.set("efficiency_raw", scaling_of(leg, raw).efficiency);
  } else {
    set_interval(row, "efficiency_raw", across_rounds(efficiency));
  }
}

/// What the same images cost in joules on one device, over what they cost here, in rounds in which
/// both were read off the counters that the table names.
void set_energy(ResultRow& row, const ResultRow& leg, const ResultRow& one, const Rounds& rounds) {
  const std::string& counters = leg.get("energy_counters");
  const double rho = rho_of(leg, one);
  const auto joules = [&](const ResultRow& of_round) {
    const bool same = of_round.get("energy_counters") == counters;
    return same ? number_in(of_round, "joules") : std::nan("");
  };
  const LaunchInterval ratio = across_rounds(rounds.of(one), rounds.of(leg),
                                             [&](const ResultRow& at_one, const ResultRow& at_n) {
                                               return rho * joules(at_one) / joules(at_n);
                                             });
  set_interval(row, "energy_ratio", ratio);
}

/// Epochs that somebody else timed may not say so.
bool have_samples(const ResultRow& leg, const ResultRow& one) {
  return number_in(leg, "samples") > 0 && number_in(one, "samples") > 0;
}

ResultRow scaling_row(const ResultRow& leg, const std::vector<const ResultRow*>& rows,
                      const Rounds& rounds) {
  ResultRow row(scaling_schema());
  for (const std::string_view column : kOfLeg) row.set(column, leg.get(column));
  row.set("status", leg.get("status")).set("note", leg.get("note"));
  if (leg.get("status") != "ok") return row;
  for (const std::string_view column : {"seconds_median",
                                        "seconds_ci_low",
                                        "seconds_ci_high",
                                        "interval",
                                        "launches",
                                        "samples",
                                        "test_accuracy",
                                        "test_accuracy_ci_low",
                                        "test_accuracy_ci_high",
                                        "target_accuracy",
                                        "epochs_to_target",
                                        "epochs_to_target_ci_low",
                                        "epochs_to_target_ci_high",
                                        "seconds_to_target",
                                        "last_rank",
                                        "last_rank_share",
                                        "energy_counters",
                                        "joules",
                                        "joules_ci_low",
                                        "joules_ci_high",
                                        "joules_per_image"}) {
    row.set(column, leg.get(column));
  }
  const Bases bases = bases_of(leg, rows);
  if (bases.raw != nullptr && have_samples(leg, *bases.raw)) set_raw(row, leg, *bases.raw, rounds);
  if (bases.one != nullptr && !have_samples(leg, *bases.one)) {
    row.add_note("no speedup: how many images an epoch has (samples) is not known");
  } else if (bases.one != nullptr) {
    set_scaling(row, leg, *bases.one, rounds);
    set_energy(row, leg, *bases.one, rounds);
  } else if (!bases.other_origin.empty()) {
    row.add_note(
        fmt::format("no speedup: H is {}, this is {}", bases.other_origin, leg.get("origin")));
  } else {
    row.set("status", "failed").add_note("H is missing: no one_device epoch on one rank");
  }
  return row;
}

}  // namespace

std::vector<ResultRow> scaling_rows(const std::vector<ResultRow>& epoch_rows,
                                    const std::vector<LaunchRows>& launches) {
  const std::vector<const ResultRow*> legs = legs_of(epoch_rows);
  const Rounds rounds(launches);
  std::vector<ResultRow> rows;
  for (const ResultRow* leg : legs) {
    // A share of an epoch is no epoch.
    if (!is_share(*leg)) rows.push_back(scaling_row(*leg, legs, rounds));
  }
  std::ranges::stable_sort(rows, [](const ResultRow& a, const ResultRow& b) {
    const auto key = [](const ResultRow& row) {
      return std::tuple(row.get("model"), row.get("scaling"), number_in(row, "ranks"),
                        row.get("gradient_sync"), row.get("nodes"));
    };
    return key(a) < key(b);
  });
  return rows;
}

}  // namespace scalebench
