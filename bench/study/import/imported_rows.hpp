// SPDX-License-Identifier: Apache-2.0
// From what foreign files say to rows of our own: ids, samples, statistics, rates. As in a measured
// run, a launch is a fresh start of the program and the unit of every comparison.
#pragma once

#include <string>
#include <vector>

#include "bench/study/analysis/rows.hpp"
#include "bench/study/import/foreign_text.hpp"

namespace scalebench {

/// What all rows of an import share.
struct ImportIdentity {
  std::string run_id;
  std::string origin;  // imported or quoted
  std::string remark;  // appended to each note: the source of what is quoted
};

struct NumberedLaunch {
  int number = 0;
  std::string file;  // for messages
  ImportedLaunch launch;
};

/// What of one launch is written.
struct ImportedLaunchRows {
  int launch = 0;
  PackedRows cases;    // with statistics
  PackedRows samples;  // of samples.csv
};

struct ImportedRows {
  std::vector<ImportedLaunchRows> launches;  // in order of their numbers
  PackedRows cases;                          // one row a case, over all launches
  std::vector<ResultRow> accuracies;         // of accuracy.csv
};

/// Throws UsageError, naming the file, when a row lacks a column without which it is no case.
void require_cases(const std::vector<NumberedLaunch>& launches);

/// Launches with equal numbers are one; its equal cases are one, with the values of all.
ImportedRows imported_rows(std::vector<NumberedLaunch> launches, const Schema& schema,
                           const ImportIdentity& identity);

}  // namespace scalebench
