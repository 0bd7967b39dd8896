// SPDX-License-Identifier: Apache-2.0
// Where the time of an epoch went, as columns of epoch.csv and as a line for humans.
#pragma once

#include <string>

#include "bench/measure/clock_sync.hpp"
#include "bench/record/result_row.hpp"
#include "bench/training/epoch/attribution.hpp"
#include "bench/training/epoch/measure.hpp"

namespace scalebench {

/// The epoch with the middle time: its states sum to what a single epoch took, as means over epochs
/// would not. At least one epoch.
const EpochMeasurement& middle_of(const EpochRun& run);

/// The states of one rank of an epoch.
void set_states(ResultRow& row, const States& of_rank, const EpochMeasurement& epoch);
/// Their means over all ranks, and the rank that was last most often.
void set_states(ResultRow& row, const EpochMeasurement& epoch);

/// "       where it went: compute 92.1 % · wait 5.0 % (rank 1 last in 80 % of steps) ...\n"
std::string where_it_went(const EpochMeasurement& epoch);

// From each rank's own trace of an epoch to what all ranks know of it: when it began and ended, who
// was last, and the states of each rank. Traces stay where they are: only the arrivals at
// collectives travel, and then sums.

/// Collective: everything of EpochMeasurement that is about time. `mine`: in seconds of this host's
/// clock. Behind clocks that disagree by more than a hundredth of the epoch, each rank's own begin
/// counts as the common one.
EpochMeasurement join_traces(Communicator& host, const RankTrace& mine, const GlobalClock& clock);

}  // namespace scalebench
