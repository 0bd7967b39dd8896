// SPDX-License-Identifier: Apache-2.0
// The suite's question in formulas, and the only place where they are computed: how far from H/N
// are N devices, and where did the rest go? Values in, values out. Unknown is NaN. All ratios and
// losses are taken within rounds (rounds.hpp).
#pragma once

#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/legs.hpp"

namespace scalebench {

struct Scaling {
  double ideal_seconds = 0;  // H/N; weak: rho * H/N
  double rho = 0;            // samples processed at N over those at 1
  double speedup = 0;        // rho * H / T
  double efficiency = 0;     // speedup / N
  double karp_flatt = 0;     // (1/S - 1/N) / (1 - 1/N); NaN at N = 1
  double lost_seconds = 0;   // T - rho * H/N
};

/// `h`: seconds of one epoch of `samples_at_one` samples on one device; `t`: of one of
/// `samples_at_n` on `devices`. Karp and Flatt, CACM 33(5), 1990. Throws Error unless all are
/// positive.
Scaling scaling_of(double h, double samples_at_one, double t, double samples_at_n, int devices,
                   Work work);

/// The efficiencies of the rounds that have both times: `h` on one device, `t` on `devices`, which
/// do `rho` times the work.
ByRound efficiencies(const ByRound& h, const ByRound& t, double rho, int devices);

// scaling.csv from epoch rows: every strategy and N beside its H and the ideal H/N.

/// `epoch_rows`: one a case and N, of which those with rank = all count. A row's H is the
/// `one_device` row on one rank that equals it in everything but N and strategy; its H_raw the
/// `none` row. A row without its H gets status `failed` and says what is missing. Rows of different
/// origin are never divided by each other. `launches` of epoch.csv: ratios are medians over the
/// rounds that have both; where there is none they are ratios of medians, without an interval, and
/// the note says so.
std::vector<ResultRow> scaling_rows(const std::vector<ResultRow>& epoch_rows,
                                    const std::vector<LaunchRows>& launches);

}  // namespace scalebench
