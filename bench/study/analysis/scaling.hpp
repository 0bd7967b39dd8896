// SPDX-License-Identifier: Apache-2.0
// The suite's question in formulas, and the only place where they are computed: how far from H/N
// are N devices, and where did the rest go? Values in, values out. Unknown is NaN.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/legs.hpp"

namespace scalebench {

struct Scaling {
  double ideal_seconds = 0;  // rho * H/N
  double rho = 0;            // samples processed at N over those at 1
  double speedup = 0;        // rho * H / T
  double efficiency = 0;     // ideal / T
  double karp_flatt = 0;     // (1/S - 1/N) / (1 - 1/N); NaN at N = 1
  double lost_seconds = 0;   // T - ideal
};

/// `h`: seconds of one epoch of `samples_at_one` samples on one device; `t`: of one of
/// `samples_at_n` on `devices`. Karp and Flatt, CACM 33(5), 1990. Throws Error unless all are
/// positive.
Scaling scaling_of(double h, double samples_at_one, double t, double samples_at_n, int devices);

inline constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();
inline constexpr LaunchInterval kNoInterval{kNotKnown, kNotKnown, kNotKnown, ""};

/// A strategy on N ranks beside one device. All of its numbers are means, or ratios of means, over
/// the same rounds: those in which one_device and N are both ok.
struct Leg {
  ResultRow row;              // of epoch.csv: what was trained, and how it went
  std::size_t rounds = 0;     // 0: no round ties its launches to those of one_device
  std::size_t planned = 0;    // rounds that tie cells together
  std::string interval = {};  // of what its intervals are: "95% of rounds"
  double h_seconds = kNotKnown;
  LaunchInterval seconds = kNoInterval;  // T
  Scaling scaling{kNotKnown, kNotKnown, kNotKnown, kNotKnown, kNotKnown, kNotKnown};
  LaunchInterval efficiency = kNoInterval;
  double raw = kNotKnown;                    // efficiency against a plain loop
  LaunchInterval statistical = kNoInterval;  // epochs to the target at 1 over those at N
  LaunchInterval energy = kNoInterval;       // joules for the same images at 1 over those at N
  std::vector<LostTime> losses = {};         // they sum to T - ideal; none at N = 1
};

/// Of each cell of epoch.csv, beside the `one_device` on one rank that equals it in everything but
/// N and strategy. One without such a cell is `failed` and says what is missing. Cells of different
/// origin are never divided by each other. A plain loop, or one rank with its share, counts where
/// it is ok in all rounds of the leg. Sorted by model, scaling, N and strategy.
std::vector<Leg> measured_legs(const std::vector<Cell>& epochs);

// The tables that answer the question: each is one projection of the legs.

/// summary.csv, scaling.csv: a row a leg.
std::vector<ResultRow> summary_rows(const std::vector<Leg>& legs);
std::vector<ResultRow> scaling_rows(const std::vector<Leg>& legs);
/// losses.csv: a row a loss, in the order of the account.
std::vector<ResultRow> loss_rows(const std::vector<Leg>& legs);

}  // namespace scalebench
