// SPDX-License-Identifier: Apache-2.0
// From each rank's own trace of an epoch to what all ranks know of it: when it began and ended, who
// was last, and the states of each rank. Traces stay where they are: only the arrivals at
// collectives travel, and then sums.
#pragma once

#include "bench/epoch_case.hpp"
#include "bench/measure/clock_sync.hpp"
#include "bench/study/attribution.hpp"

namespace scalebench {

/// Collective: everything of EpochMeasurement that is about time. `mine`: in seconds of this host's
/// clock. Behind clocks that disagree by more than a hundredth of the epoch, each rank's own begin
/// counts as the common one.
EpochMeasurement join_traces(Communicator& host, const RankTrace& mine, const GlobalClock& clock);

}  // namespace scalebench
