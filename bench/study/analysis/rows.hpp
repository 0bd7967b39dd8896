// SPDX-License-Identifier: Apache-2.0
// Rows as files hold them, and those that one launch wrote.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/record/csv.hpp"
#include "bench/record/result_row.hpp"

namespace scalebench {

/// The rows that one launch wrote: of its case file and of samples.csv.
struct LaunchRows {
  int launch = 0;
  std::vector<ResultRow> cases;
  std::vector<ResultRow> samples;
  int round = launch;  // of the plan; launches of one round are compared with each other
};

/// All rows of one file, which csv_file finds; nothing when it is missing, or cut short within its
/// header. `torn` says whether a last line was cut short and left out. Throws UsageError for a
/// damaged file, for one that lacks a column, and for rows of a later schema version.
std::vector<ResultRow> rows_in(const std::filesystem::path& folder, const Schema& schema,
                               bool* torn = nullptr);

/// What to say of a file whose last line rows_in() left out.
std::string torn_text(const std::filesystem::path& file);

/// What rows are sorted by: launches are shuffled, but a file is read from its parameters down to
/// N, the size and the rank.
std::vector<std::pair<double, std::string>> order_of(const ResultRow& row);

}  // namespace scalebench
