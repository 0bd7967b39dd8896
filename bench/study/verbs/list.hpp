// SPDX-License-Identifier: Apache-2.0
// What `scalebench list` knows: each kind of thing as records with named text cells.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

/// Columns, and a row of as many cells for each thing.
struct Listing {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> remarks;  // what could not be read, one line each
};

Listing list_models();
Listing list_gradient_syncs();
Listing list_algorithms();
Listing list_transports();
Listing list_dtypes();

/// A catalog as it is in its file. Throws UsageError `file: what` when it is missing or damaged.
Listing list_catalog(const std::filesystem::path& file);

/// The runs in a folder, oldest first; folders without a manifest are no runs. Of a run that cannot
/// be read (its status is `damaged`) or whose rows cannot, a remark says why; the cells are empty.
Listing list_runs(const std::filesystem::path& results);

/// For a terminal: aligned columns, cut where a cell is long.
std::string table_of(const Listing& listing);

}  // namespace scalebench
