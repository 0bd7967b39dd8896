// SPDX-License-Identifier: Apache-2.0
// One repetition of one case under Google Benchmark: check, then time batches of calls. On the host
// by the steady clock, on a device by events on the stream.
#pragma once

#include <benchmark/benchmark.h>

#include <string>

#include "bench/kernel_cases.hpp"

namespace scalebench {

/// How a case ended: `ok`, or `skipped`, `wrong`, `failed` and why.
struct KernelStatus {
  std::string status = "ok";
  std::string note;
};

/// The body of a benchmark with manual time. An iteration is one.calls() calls. Never throws: what
/// went wrong is in `status` and ends the case.
void time_kernel(benchmark::State& state, const KernelCase& one, KernelStatus& status);

}  // namespace scalebench
