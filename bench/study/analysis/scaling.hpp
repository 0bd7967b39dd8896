// SPDX-License-Identifier: Apache-2.0
// The suite's question in formulas, and the only place where they are computed: how far from H/N
// are N devices, and where did the rest go? Values in, values out. Unknown is NaN.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// A time with its interval, in seconds; low and high are NaN when there is none.
struct TimeWithInterval {
  double seconds = 0;
  double low = 0;
  double high = 0;
};

struct Scaling {
  double ideal_seconds = 0;  // H/N
  double rho = 0;            // samples processed at N over those at 1
  double speedup = 0;        // rho * H / T
  double speedup_low = 0;    // from the far ends of both intervals; NaN without any
  double speedup_high = 0;
  double efficiency = 0;  // speedup / N
  double efficiency_low = 0;
  double efficiency_high = 0;
  double karp_flatt = 0;    // (1/S - 1/N) / (1 - 1/N); NaN at N = 1
  double lost_seconds = 0;  // T - rho * H/N
};

/// `h`: one epoch of `samples_at_one` samples on one device; `t`: one of `samples_at_n` on
/// `devices`. Karp and Flatt, CACM 33(5), 1990. Throws Error unless all are positive.
Scaling scaling_of(TimeWithInterval h, double samples_at_one, TimeWithInterval t,
                   double samples_at_n, int devices);

// scaling.csv from epoch rows: every strategy and N beside its H and the ideal H/N.

/// `epoch_rows`: one a case and N, of which those with rank = all count. A row's H is the
/// `one_device` row on one rank that equals it in everything but N and strategy; its H_raw the
/// `none` row. A row without its H gets status `failed` and says what is missing. Rows of different
/// origin are never divided by each other.
std::vector<ResultRow> scaling_rows(const std::vector<ResultRow>& epoch_rows);

/// Whether a row of epoch.csv did one rank's share of a run on several.
bool is_share(const ResultRow& row);

/// Equal in everything but N, the strategy and how gradients travel. Strong scaling keeps the
/// global batch, weak scaling each rank's.
bool comparable(const ResultRow& leg, const ResultRow& one);

// The losses without a trace: from runs that each do one thing more than the one before, for a
// cross-check of the account. One rank alone with its share of the images, all ranks at once,
// input, a barrier a step, the strategy, evaluation.

/// ladder.csv: a row for each rung of each strategy and N of whose ladder the first rung is among
/// `epoch_rows`. `scaling_rows` hold what the trace says. A rung that was not measured has status
/// `failed` or, with a reason, `skipped`.
std::vector<ResultRow> ladder_rows(const std::vector<ResultRow>& epoch_rows,
                                   const std::vector<ResultRow>& scaling_rows);

// The account: from the states of an epoch on one device and of one on N to the losses between H/N
// and T_N, a sum that is exact. The formulas are those of results/README.md.

/// Names of the states whose change is a loss, in the order of the account. A state's column in
/// epoch.csv is NAME_seconds and its loss in scaling.csv lost_NAME_seconds.
inline constexpr std::array<std::string_view, 7> kLossNames{
    "compute", "transfer", "wait_static", "wait_jitter", "input", "evaluation", "host"};

/// Seconds of an epoch by state, mean over ranks, in the order of kLossNames.
using StateSeconds = std::array<double, kLossNames.size()>;

struct Losses {
  double work = 0;          // (rho - 1) * H / N: other work than one device does
  StateSeconds by_state{};  // mean over ranks - rho * (on one device) / N; may be negative
  double batch = 0;         // of compute: smaller batches, an undivided optimizer; NaN: unknown
  double contention = 0;    // of compute: the rest, which the ranks do to each other
  double unattributed = 0;  // T - (H/N + work + all states), so that all add up
};

/// `one`, `n`: states of the middle launch; h_seconds, t_seconds: the medians over launches, which
/// those launches need not have. `batch_seconds`: see batch_loss; NaN when unknown.
Losses losses_of(const StateSeconds& one, double h_seconds, const StateSeconds& n, double t_seconds,
                 double rho, int devices, double batch_seconds);

/// What dividing a batch costs by itself: compute seconds of one rank alone with its share of batch
/// and images, over an equal part of those of one rank with all of them.
double batch_loss(double compute_of_share, double compute_of_all, double rho, int devices);

}  // namespace scalebench
