// SPDX-License-Identifier: Apache-2.0
// The operations before the ones that count: the very first, then groups of ten until two in a row
// take the same time.
#pragma once

#include "bench/measure/repetition.hpp"

namespace scalebench {

/// The same on all ranks.
struct WarmUp {
  double first_call_seconds = 0;  // slowest rank
  double seconds = 0;             // of a warm operation: median of the last group, slowest rank
  bool steady = true;             // false: a cap was hit
};

/// Collective. A fixed warm-up is steady by decree; with none, one more operation is run to tell
/// its time.
WarmUp warm_up(Communicator& host, const CollectiveOperation& operation, const WarmUpRule& rule);

}  // namespace scalebench
