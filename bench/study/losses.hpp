// SPDX-License-Identifier: Apache-2.0
// From the states of an epoch on one device and of one on N to the losses between H/N and T_N, a
// sum that is exact. Values in, values out; the formulas are those of results/README.md.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace scalebench {

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
