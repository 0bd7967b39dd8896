// SPDX-License-Identifier: Apache-2.0
// Where the time between the ideal and the measured epoch went: by the states of epochs. The
// formulas are those of results/README.md.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/means.hpp"

namespace scalebench {

/// Names of the states whose change is a loss, in the order of the account. A state's column in
/// epoch.csv is NAME_seconds; the host's is what the others leave of the epoch.
inline constexpr std::array<std::string_view, 7> kStatesOfAccount{
    "compute", "transfer", "wait_static", "wait_jitter", "input", "evaluation", "host"};

/// Instead of transfer and both kinds of waiting, where clocks or a log cannot tell them apart.
inline constexpr std::string_view kJoinedLoss = "transfer_and_wait";

/// Whether a row of epoch.csv knows transfer and waiting together only, as its transfer.
bool is_joined(const ResultRow& epoch);
/// Both of a row together; NaN where it has no states.
double transfer_and_wait(const ResultRow& epoch);

/// Seconds that are lost to something, or gained where they are negative.
struct LostTime {
  std::string_view name;
  LaunchInterval seconds;
};

/// Rows of epoch.csv, one a launch.
using LaunchEpochs = std::vector<const ResultRow*>;
/// A column of them; NaN where it is empty.
std::vector<double> values_of(const LaunchEpochs& epochs, std::string_view column);

/// A loss is the mean over ranks of a state at N less `part` (rho / N) of it on one device, mean
/// over launches: mean seconds of `n` less part of those of `one` are the sum of all. Compute is
/// split where `share` has rows: one rank alone with its share of batch and images. Nothing where a
/// row has no states.
std::vector<LostTime> losses_of(const LaunchEpochs& n, const LaunchEpochs& one,
                                const LaunchEpochs& share, double part, Sides sides);

}  // namespace scalebench
