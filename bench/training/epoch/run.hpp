// SPDX-License-Identifier: Apache-2.0
// bench_epoch on its ranks: epochs are measured, and what was found becomes rows of epoch.csv,
// samples.csv and lines on stdout.
#pragma once

#include "bench/program/program.hpp"
#include "bench/training/epoch/options.hpp"

namespace scalebench {

/// Collective. Returns the program's exit code.
ExitCode train_epochs(const Ranks& ranks, const EpochOptions& given);

}  // namespace scalebench
