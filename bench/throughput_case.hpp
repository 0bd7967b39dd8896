// SPDX-License-Identifier: Apache-2.0
// Training steps of all ranks at once, each timed by its own rank; no rank waits for another inside
// a round, and a round lasts equally long on all, so that none finishes its share undisturbed.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/measure/statistics.hpp"
#include "bench/throughput_options.hpp"

namespace scalebench {

struct ThroughputResult {
  TrainerOptions trainer;  // as resolved, this rank's
  std::int64_t parameters = 0;
  double first_step_seconds = 0;                  // this rank's very first step
  std::vector<std::vector<double>> step_seconds;  // by rank, in measured order; on every rank
  bool converged = false;
};

/// Collective. Warm-up: at least 10 steps and 0.5 s.
ThroughputResult measure_throughput(const Ranks& ranks, const ThroughputOptions& options);

}  // namespace scalebench
