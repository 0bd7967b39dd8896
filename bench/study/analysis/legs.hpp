// SPDX-License-Identifier: Apache-2.0
// A leg: one strategy on N ranks, and what it is compared with; where the time between the ideal
// and the measured epoch went, by the states of epochs. The formulas are those of
// results/README.md.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/means.hpp"

namespace scalebench {

/// Whether a row of epoch.csv did one rank's share of a run on several.
bool is_share(const ResultRow& row);

/// The columns because of which they are not comparable. None: equal in everything but N, the
/// strategy and how gradients travel. Strong scaling keeps the global batch, weak scaling each
/// rank's.
std::vector<std::string_view> differences(const ResultRow& leg, const ResultRow& one);

/// Of the cells on one rank that fit and are comparable with a leg, the one whose number of images
/// is nearest to `samples`; null: there is none.
const Cell* nearest(const std::vector<Cell>& cells, const ResultRow& leg, double samples,
                    const std::function<bool(const ResultRow&)>& fits);

/// What a leg is compared with, from the same origin; null: was not measured.
struct Bases {
  const Cell* one = nullptr;      // one_device: H
  const Cell* raw = nullptr;      // the plain loop on one rank
  const Cell* share = nullptr;    // the plain loop on one rank with its share of the images
  std::string other_origin = {};  // of a one_device that is not taken
};

Bases bases_of(const ResultRow& leg, const std::vector<Cell>& epochs);

/// Whether each of N devices does as much as one; else they share the work of one.
bool is_weak(const ResultRow& leg);
int ranks_of(const ResultRow& leg);
/// Ranks among which the images of a step are divided: fewer with parameter servers, 1 with a split
/// model; where a row does not say its batches, all.
int workers_in(const ResultRow& leg);
/// How many times the samples of `one` a leg processes.
double rho_of(const ResultRow& leg, const ResultRow& one);

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
