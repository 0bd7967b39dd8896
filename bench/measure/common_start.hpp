// SPDX-License-Identifier: Apache-2.0
// What it takes to start all ranks at one instant, and what that instant cannot tell apart.
#pragma once

#include "bench/measure/clock_sync.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

/// Collective: no rank leaves before all have entered. ceil(log2 ranks) rounds in which every rank
/// sends and receives, so that ranks leave closer together than behind a tree with a root.
void dissemination_barrier(Communicator& host);

/// Collective: how far ahead rank 0 must name an instant, three times what telling it takes.
double measure_lead_seconds(Communicator& host);

/// Collective: two readings of the clock in a row, on the rank where that takes longest.
double measure_clock_pair_seconds(Communicator& host, const GlobalClock& clock);

}  // namespace scalebench
