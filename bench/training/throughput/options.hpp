// SPDX-License-Identifier: Apache-2.0
// The command line of bench_throughput.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/training/options.hpp"

namespace scalebench {

struct ThroughputOptions {
  TrainingOptions training;
  /// Images per rank and step, each a case of its own; 0: the model's default.
  std::vector<std::int64_t> batches;
  long steps = 0;              // timed steps of each rank; 0: until intervals are narrow
  double max_seconds = 5;      // cap on the timed steps; infinite: none
  double timeout_seconds = 0;  // of the watchdog; 0: its own, more for long steps
  std::string text;
};

/// Throws UsageError in one line for anything that is not valid.
ThroughputOptions parse_throughput_options(int argc, const char* const* argv, int ranks);

}  // namespace scalebench
