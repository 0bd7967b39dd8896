// SPDX-License-Identifier: Apache-2.0
// Whether what a run publishes follows from its samples: every launch's statistics from
// samples.csv, and every table from those by the function that made them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/fit/fit.hpp"

namespace scalebench {

/// One cell (or row: `column` is empty) that is not what it should be.
struct Difference {
  std::string file;    // "launches/allreduce.csv: launch 3"
  std::string row;     // "case 3f2a90b1c4d5 (allreduce ring mpi 1 KiB N=2)"
  std::string column;  // "seconds_median"
  std::string published;
  std::string recomputed;
};
/// "FILE: ROW: COLUMN: published X, recomputed Y".
std::string line_of(const Difference& difference);

struct Verification {
  std::vector<Difference> differences;
  std::vector<std::string> notes;  // what could not be verified, and why
  std::size_t numbers = 0;         // cells that were made again
  std::size_t samples = 0;         // rows of samples.csv that they come from
};

/// `run` was read with its samples. Throws UsageError for a damaged file.
Verification verify_rows(const StoredRun& run, const FitModel& model);

}  // namespace scalebench
