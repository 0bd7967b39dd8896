// SPDX-License-Identifier: Apache-2.0
// Whether what a run publishes follows from its samples: every launch's statistics from
// samples.csv, and every table from those by the function that made them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/study/analysis/fit.hpp"
#include "bench/study/analysis/rows.hpp"
#include "bench/study/analysis/stored_run.hpp"

namespace scalebench {

// The statistics of one launch once more, from its samples alone: what its case file should say.

/// The launch's case rows, in their order, with every column that follows from samples (times,
/// rates, skew) made anew; the others are as they were. Rows without a time stay as they are.
std::vector<ResultRow> recomputed_rows(const LaunchRows& launch, const FitModel& model);

/// One cell (or row: `column` is empty) that is not what it should be.
struct Difference {
  std::string file;    // "launches/003-allreduce-n2/allreduce.csv"
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
Verification verify_rows(StoredRun run, const FitModel& model);

/// Adds how `recomputed` differs from the file of that schema in `folder`, by rows' keys. Columns
/// that the file does not have are passed over.
void compare_rows(const std::filesystem::path& folder, const std::string& label,
                  const Schema& schema, const std::vector<ResultRow>& recomputed,
                  Verification& into);

}  // namespace scalebench
