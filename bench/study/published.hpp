// SPDX-License-Identifier: Apache-2.0
// configs/published.csv: results that others have published, each number as its source prints it,
// with the source; and, marked, what follows from them by arithmetic alone. results/README.md says
// what its columns mean.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

const Schema& published_schema();

/// Every row, in the order of the file. Throws UsageError `file:line:column: what` for a damaged
/// file, other columns, a number that is none or not positive, and a row that does not say its
/// name, kind, system, source or, when quoted, what is printed there.
std::vector<ResultRow> read_published(const std::filesystem::path& path);

/// The names of the series, in order of appearance.
std::vector<std::string> names_of(const std::vector<ResultRow>& published);

}  // namespace scalebench
