// SPDX-License-Identifier: Apache-2.0
// One repetition of one case under Google Benchmark: check, then time batches of calls. On the host
// by the steady clock, on a device by events on the stream.
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "bench/kernels/cases.hpp"
#include "bench/program/card_watch.hpp"

namespace scalebench {

/// One start of the body on a device: a trial run, or a repetition.
struct KernelLook {
  TimeSpan span;
  double enqueue_seconds = 0;  // what a call cost the host, mean
};

/// How a case ended: `ok`, or `skipped`, `wrong`, `failed` and why.
struct KernelStatus {
  std::string status = "ok";
  std::string note;
  std::vector<KernelLook> looks = {};  // of all starts, the repetitions last
};

/// The body of a benchmark with manual time. An iteration is one.calls() calls. Never throws: what
/// went wrong is in `status` and ends the case.
void time_kernel(benchmark::State& state, const KernelCase& one, KernelStatus& status);

}  // namespace scalebench
