// SPDX-License-Identifier: Apache-2.0
// From what foreign files say to rows of our own (ids, samples, statistics, rates) and to a results
// folder: what compare, verify and the scripts read of a measured run. As there, a launch is a
// fresh start of the program and the unit of every comparison.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/import/imported_case.hpp"

namespace scalebench {

/// What all rows of an import share.
struct ImportIdentity {
  std::string run_id;
  std::string origin;  // imported or quoted
};

struct NumberedLaunch {
  int number = 0;
  std::string file;  // for messages
  ImportedLaunch launch;
  int round = 0;  // 0: its own
};

struct ImportedRows {
  std::vector<LaunchRows> launches;  // in order of their numbers
  std::vector<ResultRow> cases;      // one row a case, over all launches
};

/// Throws UsageError, naming the file, when a row lacks a column without which it is no case.
void require_cases(const std::vector<NumberedLaunch>& launches);

/// Launches with equal numbers are one; its equal cases are one, with the values of all. Throws
/// UsageError, naming the file, where they are on different numbers of nodes.
ImportedRows imported_rows(const std::vector<NumberedLaunch>& launches, const Schema& schema,
                           const ImportIdentity& identity);

/// Writes samples.csv, the case file, summary.csv and scaling.csv where the rows have a base for
/// them, losses.csv where they have states, the rows of each launch in launches/, and, last, the
/// manifest. Then the folder is sealed.
void write_import(const std::filesystem::path& run, const ImportedRows& rows, const Schema& schema,
                  Manifest manifest);

/// In what epochs on one and on several ranks differ that make no speedup; empty where they do or
/// where there is nothing to expect.
std::string why_no_speedup(const ImportedRows& rows);

}  // namespace scalebench
