// SPDX-License-Identifier: Apache-2.0
// What bench_epoch found, as rows of epoch.csv and samples.csv and as lines on stdout.
#pragma once

#include <string>
#include <vector>

#include "bench/training/epoch/measure.hpp"

namespace scalebench {

/// Collective. One row for each rank, then one for all.
/// Not collective for a run that failed: one row for all, with status failed, without statistics.
std::vector<ResultRow> rows_of(const Ranks& ranks, const EpochOptions& options, const EpochRun& run,
                               const Recorder& recorder);
/// The last epoch of `run` as rows of samples.csv: all ranks together, then each.
std::vector<ResultRow> samples_of_last(const EpochOptions& options, const EpochRun& run,
                                       const Recorder& recorder);

/// The last epoch of `run` as a row of accuracy.csv.
ResultRow accuracy_of_last(const EpochOptions& options, const EpochRun& run,
                           const Recorder& recorder);

/// The table that is printed while it runs; other formats print the rows at the end.
std::string epoch_head(const Ranks& ranks, const EpochOptions& options, const EpochRun& run);
std::string epoch_line(const EpochRun& run);

}  // namespace scalebench
