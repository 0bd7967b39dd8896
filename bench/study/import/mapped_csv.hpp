// SPDX-License-Identifier: Apache-2.0
// Another suite's CSV file, read by a map of its columns: a row is one value of a case.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/study/import/foreign_text.hpp"

namespace scalebench {

// How another suite's CSV file is to be read: a TOML file that names, for our columns, theirs with
// their units, what is the same in every row, and which rows to take. results/README.md shows one.

struct MappedColumn {
  std::string ours;    // a column of the case file, a value column, or "launch"
  std::string theirs;  // the foreign header's
  double factor = 1;   // from their unit to ours
  std::map<std::string, std::string> names;  // their texts: ours; empty: as they are
};

struct CsvMap {
  const Schema* schema = nullptr;  // of the case file that the rows become
  std::vector<MappedColumn> columns;
  Settings constants;
  std::vector<std::pair<std::string, std::vector<std::string>>> filter;  // their column: its texts
  std::string text;                                                      // the TOML itself
};

/// Throws UsageError with all complaints, `file:line:column: what`, one a line.
CsvMap read_csv_map(const std::filesystem::path& path);

/// The case file of that bench: "allreduce", "throughput", "epoch" or "kernels". Throws UsageError.
const Schema& schema_of_bench(const std::string& bench);

/// Rows with equal `launch` cells are one launch; without such a column all are. A row whose value
/// is empty, "N/A" or "nan" becomes a failed case and a finding, never a 0. Throws UsageError
/// `file:line:column: what` for a damaged file and for any other text where a number belongs.
ImportedFile read_mapped_csv(const std::filesystem::path& path, const CsvMap& map,
                             const Settings& settings);

}  // namespace scalebench
