// SPDX-License-Identifier: Apache-2.0
// An import as a results folder: what compare, verify and the scripts read of a measured run.
#pragma once

#include <filesystem>

#include "bench/record/manifest.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/import/imported_rows.hpp"

namespace scalebench {

/// Writes launches/, samples.csv, the case file, scaling.csv where the rows have a base for it,
/// accuracy.csv and, last, the manifest as complete.
void write_import(const ResultsFolder& folder, const ImportedRows& rows, const Schema& schema,
                  const Manifest& manifest);

/// `name` as part of a folder's name: lower case, at most 48 of [a-z0-9._-], no dot first.
std::string plain_name(const std::string& name);

}  // namespace scalebench
