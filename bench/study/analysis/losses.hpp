// SPDX-License-Identifier: Apache-2.0
// Where the time between the ideal and the measured epoch went: by the states of epochs.
// Taken within rounds. Unknown is NaN.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/legs.hpp"

namespace scalebench {

// The account: from the states of an epoch on one device and of one on N to the losses between H/N
// and T_N, a sum that is exact. The formulas are those of results/README.md.

/// Names of the states whose change is a loss, in the order of the account. A state's column in
/// epoch.csv is NAME_seconds.
inline constexpr std::array<std::string_view, 7> kLossNames{
    "compute", "transfer", "wait_static", "wait_jitter", "input", "evaluation", "host"};

/// Seconds of an epoch by state, mean over ranks, in the order of kLossNames.
using StateSeconds = std::array<double, kLossNames.size()>;

/// One epoch: the seconds it took and its states, which sum to them but for what an account misses.
struct Epoch {
  double seconds = 0;
  StateSeconds states{};
  /// The hosts' clocks cannot part transfer from waiting: all of it stands under transfer.
  bool joined = false;
};

struct Losses {
  double work = 0;          // rho * H/N - ideal: other work than an N-th of one device's
  StateSeconds by_state{};  // mean over ranks - rho * (on one device) / N; may be negative
  double batch = 0;         // of compute: smaller batches, an undivided optimizer; NaN: unknown
  double contention = 0;    // of compute: the rest, which the ranks do to each other
  double unattributed = 0;  // T - (ideal + work + all states), so that all add up
  bool joined = false;      // of transfer and waiting only the sum is known
};

/// Of one round: `one` on one device, `n` on `devices`, which do `rho` times the work. Compute is
/// split where `compute_of_share` is known: that of one rank alone with its share of batch and
/// images.
Losses losses_of(const Epoch& one, const Epoch& n, double rho, int devices, double compute_of_share,
                 Work work);

/// losses.csv: of each row of scaling.csv (`scaling_rows`) what lies between its ideal and its
/// measured time, one row a loss, in the order of the account; one row for transfer and waiting
/// where a round cannot part them. Each is taken in every round and stands as the median over
/// rounds; `unattributed`, the last, is what these do not sum to. Without any launches (an import)
/// they are those of the medians, in no round.
std::vector<ResultRow> loss_rows(const std::vector<ResultRow>& epoch_rows,
                                 const std::vector<LaunchRows>& launches,
                                 const std::vector<ResultRow>& scaling_rows);

/// The last two of the twelve columns with which scaling.csv begins: which of the losses that can
/// be told from nothing is largest, and what the numbers are, in a few words.
void add_answers(std::vector<ResultRow>& scaling_rows, const std::vector<ResultRow>& loss_rows);

/// summary.csv: the twelve columns of scaling.csv, with add_answers(), in six digits, for a first
/// look and for six lines of pandas.
std::vector<ResultRow> summary_rows(const std::vector<ResultRow>& scaling_rows);

}  // namespace scalebench
