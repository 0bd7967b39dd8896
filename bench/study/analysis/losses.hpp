// SPDX-License-Identifier: Apache-2.0
// From the states of an epoch on one device and of one on N to the losses between H/N and T_N, a
// sum that is exact. Values in, values out; the formulas are those of results/README.md.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

// The losses without a trace: from runs that each do one thing more than the one before, for a
// cross-check of the account. One rank alone with its share of the images, all ranks at once,
// input, a barrier a step, the strategy, evaluation.

/// ladder.csv: a row for each rung of each strategy and N of whose ladder the first rung is among
/// `epoch_rows`. `scaling_rows` hold what the trace says. A rung that was not measured has status
/// `failed` or, with a reason, `skipped`.
std::vector<ResultRow> ladder_rows(const std::vector<ResultRow>& epoch_rows,
                                   const std::vector<ResultRow>& scaling_rows);

// The losses of a row of scaling.csv, from rows of epoch.csv.

/// Fills the lost_ columns of `row`, whose h_seconds, ideal_seconds, seconds_median and rho are
/// set: `leg` is its row of epoch.csv and `one` its H. Among `rows` the plain loop on one rank with
/// all images, and the one with one rank's share of them, say what smaller batches cost; without
/// them the loss of computation is not split. Rows without states leave the columns empty.
void set_losses(ResultRow& row, const ResultRow& leg, const ResultRow& one,
                const std::vector<const ResultRow*>& rows);

/// Whether a row of epoch.csv did one rank's share of a run on several.
bool is_share(const ResultRow& row);

/// Equal in everything but N, the strategy and how gradients travel. Strong scaling keeps the
/// global batch, weak scaling each rank's.
bool comparable(const ResultRow& leg, const ResultRow& one);

/// Names of the states whose change is a loss, in the order of the account. A state's column in
/// epoch.csv is NAME_seconds and its loss in scaling.csv lost_NAME_seconds.
inline constexpr std::array<std::string_view, 7> kLossNames{
    "compute", "transfer", "wait_static", "wait_jitter", "input", "evaluation", "host"};

/// Seconds of an epoch by state, mean over ranks, in the order of kLossNames.
using StateSeconds = std::array<double, kLossNames.size()>;
double total(const StateSeconds& states);

struct Losses {
  double work = 0;          // (rho - 1) * H / N: other work than one device does
  StateSeconds by_state{};  // mean over ranks - rho * (on one device) / N; may be negative
  double batch = 0;         // of compute: smaller batches, an undivided optimizer; NaN: unknown
  double contention = 0;    // of compute: the rest, which the ranks do to each other
  double unattributed = 0;  // T - (H/N + work + all states)
  double sum() const;       // work + all states + unattributed = T - H/N
};

/// `one`, `n`: states of the middle launch; h_seconds, t_seconds: the medians over launches, which
/// those launches need not have. `batch_seconds`: see batch_loss; NaN when unknown.
Losses losses_of(const StateSeconds& one, double h_seconds, const StateSeconds& n, double t_seconds,
                 double rho, int devices, double batch_seconds);

/// What dividing a batch costs by itself: compute seconds of one rank alone with its share of batch
/// and images, over an equal part of those of one rank with all of them.
double batch_loss(double compute_of_share, double compute_of_all, double rho, int devices);

}  // namespace scalebench
