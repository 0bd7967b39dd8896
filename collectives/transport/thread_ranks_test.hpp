// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of one process: the transport for tests. No launcher, no copies between
// processes, and a mode that shows deadlocks which buffering would hide.
#pragma once

#include <functional>
#include <limits>

#include "collectives/communicator.hpp"

namespace scalebench {

enum class SendMode {
  buffered,    // a send completes at once, its data copied away
  rendezvous,  // a send completes only when it has been received, as large MPI messages do
};

/// Runs `body` once per rank, each on a thread of its own with its own communicator, and returns
/// when all have ended. The first exception of any rank is rethrown, after the others have been
/// woken with an Error instead of waiting for ever. `ranks` >= 1. The topology pretends that each
/// `ranks_per_node` ranks in a row have a node of their own; peer() reaches all ranks nevertheless.
void run_ranks(int ranks, const std::function<void(Communicator&)>& body,
               SendMode mode = SendMode::rendezvous,
               int ranks_per_node = std::numeric_limits<int>::max());

}  // namespace scalebench
