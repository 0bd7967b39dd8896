// SPDX-License-Identifier: Apache-2.0
// bench_throughput on its ranks: every case is measured, recorded and printed.
#pragma once

#include "bench/program/program.hpp"
#include "bench/training/throughput/options.hpp"

namespace scalebench {

/// Collective. Returns the program's exit code.
ExitCode measure_steps(const Ranks& ranks, const ThroughputOptions& given);

}  // namespace scalebench
