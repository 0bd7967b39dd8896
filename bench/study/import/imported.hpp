// SPDX-License-Identifier: Apache-2.0
// What a foreign file says, in our columns: the values of each case, launch by launch, and what
// could not be read. Readers (one for each kind of file) fill it; imported_rows makes rows of it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/record/facts.hpp"
#include "bench/record/result_row.hpp"
#include "bench/study/import/foreign_text.hpp"

namespace scalebench {

/// One case as far as one place of a file tells it.
struct ImportedCase {
  ResultRow row;  // parameters, status where it is not ok, note; neither ids nor statistics
  std::vector<double> seconds;        // single values in their order
  std::vector<ResultRow> accuracies;  // of accuracy.csv: one an epoch, parameters left out
};

/// One fresh start of the foreign program.
struct ImportedLaunch {
  std::vector<ImportedCase> cases;
  std::vector<std::string> command;  // its command line, where the file has it
};

struct ImportedFile {
  std::vector<ImportedLaunch> launches;
  std::vector<Finding> findings;
  Facts key, treatment;              // of the environment, as far as the file tells
  std::vector<std::string> remarks;  // what a user should know of rows that are right
};

/// --set: columns that are the same in the whole file.
using Settings = std::vector<std::pair<std::string, std::string>>;

}  // namespace scalebench
