// SPDX-License-Identifier: Apache-2.0
// An import as a results folder: what compare, verify and the scripts read of a measured run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/import/imported_rows.hpp"

namespace scalebench {

/// Writes launches/, samples.csv, the case file, scaling.csv where the rows have a base for it,
/// accuracy.csv and, last, the manifest as complete.
void write_import(const ResultsFolder& folder, const ImportedRows& rows, const Schema& schema,
                  const Manifest& manifest);

/// `name` as part of a folder's name: lower case, at most 48 of [a-z0-9._-], no dot first.
std::string plain_name(const std::string& name);

// What an import brought, for a terminal.

/// One line a case, the first of them only when there are many. Names from foreign files are shown
/// so that they cannot steer a terminal.
std::string import_table(const PackedRows& rows);

}  // namespace scalebench
