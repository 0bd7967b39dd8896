// SPDX-License-Identifier: Apache-2.0
// Measuring one case: checked, timed, and checked again.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bench/allreduce/bench.hpp"
#include "bench/program/card_watch.hpp"
#include "bench/program/fault.hpp"
#include "bench/program/watchdog/watchdog.hpp"
#include "kernels/buffer.hpp"

namespace scalebench {

// The exact check of a case: inputs whose reduction is known, a poisoned output, every element of
// every rank compared; out of place, the input must also be what it was. Inputs of a longer buffer
// begin with those of a shorter one, so they are made once per dtype and op.

class AllreduceVerifier {
 public:
  /// `host` joins the ranks' verdicts. `largest_bytes` of one rank's buffer.
  AllreduceVerifier(Communicator& host, std::size_t largest_bytes);

  /// Collective: fills `spans.in`, calls `run`, which returns when it is done, returns the wrong
  /// elements over all ranks, and leaves zeros, which stay zeros however often they are reduced in
  /// place.
  std::size_t count_wrong(Communicator& data, AllreduceSpans spans, ReduceOp op,
                          const std::function<void()>& run);

 private:
  ConstSpan inputs(const Communicator& data, std::size_t count, DType dtype, ReduceOp op);

  Communicator& host_;
  Buffer inputs_;
  Buffer staging_;  // what came back from a device
  std::size_t largest_bytes_;
  DType dtype_ = DType::float32;
  std::optional<ReduceOp> op_;
  std::size_t filled_ = 0;  // leading elements of inputs_ that hold inputs of dtype_ and op_
};

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
