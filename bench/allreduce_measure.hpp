// SPDX-License-Identifier: Apache-2.0
// Measuring one case: checked, timed, and checked again.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "bench/allreduce_buffers.hpp"
#include "bench/allreduce_fault.hpp"
#include "bench/allreduce_verifier.hpp"
#include "bench/device_spell.hpp"
#include "bench/watchdog.hpp"

namespace scalebench {

/// What enqueueing an operation costs the host, and how long the stream then works: medians of a
/// few operations after those that are timed, which they would disturb. NaN: on host memory.
struct LaunchCost {
  double enqueue_seconds = std::numeric_limits<double>::quiet_NaN();
  double device_seconds = std::numeric_limits<double>::quiet_NaN();
};

struct AllreduceResult {
  std::string status = "ok";  // ok, skipped, wrong
  std::string note;
  std::size_t wrong = 0;                 // elements, over all ranks, before and after timing
  Timing timing = {};                    // empty unless ok
  LaunchCost launch = {};                // on a device, this rank's
  std::vector<DeviceSpell> spells = {};  // of the cards, by repetition; empty: nothing watched
};

/// What a case runs on.
struct AllreduceBench {
  Communicator& data;               // which the algorithm uses
  const AllreduceBuffers& buffers;  // made of it
  CollectiveTimer& timer;
  AllreduceVerifier& verifier;
  Watchdog* watchdog = nullptr;           // is told of every operation
  const AllreduceFault* fault = nullptr;  // strikes this rank's operations

  /// Runs the case once.
  void run(const AllreduceCase& one, AllreduceSpans spans) const;
  void wait() const;
};

/// Collective. All ranks return the same result.
AllreduceResult measure_allreduce(const AllreduceBench& bench, const AllreduceCase& one,
                                  const AllreduceMethod& method);

}  // namespace scalebench
