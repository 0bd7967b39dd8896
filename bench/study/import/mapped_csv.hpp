// SPDX-License-Identifier: Apache-2.0
// Another suite's CSV file, read by a map of its columns: a row is one value of a case.
#pragma once

#include <filesystem>
#include <string>

#include "bench/study/import/csv_map.hpp"
#include "bench/study/import/imported.hpp"

namespace scalebench {

/// Rows with equal `launch` cells are one launch; without such a column all are. A row whose value
/// is empty, "N/A" or "nan" becomes a failed case and a finding, never a 0. Throws UsageError
/// `file:line:column: what` for a damaged file and for any other text where a number belongs.
ImportedFile read_mapped_csv(const std::filesystem::path& path, const CsvMap& map,
                             const Settings& settings);

}  // namespace scalebench
