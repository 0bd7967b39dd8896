// SPDX-License-Identifier: Apache-2.0
// bench_allreduce on its ranks: transports -> plan -> for each case: check, time, write the row.
#pragma once

#include "bench/allreduce/options.hpp"
#include "bench/program/program.hpp"

namespace scalebench {

/// Collective. Returns the program's exit code.
ExitCode run_allreduce(const Ranks& ranks, const AllreduceOptions& options);

}  // namespace scalebench
