// SPDX-License-Identifier: Apache-2.0
// In what two runs differ beside their numbers: the machine, the software, the programs, and the
// configuration. Manifests in, fields out.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/manifest.hpp"

namespace scalebench {

/// One field in which the sides differ. Unknown is "unknown (reason)"; a field that a manifest does
/// not have at all is "not recorded".
struct FieldDifference {
  std::string_view set;  // key, treatment, observation, binaries
  std::string field;
  std::string a;
  std::string b;
};

/// The environments' fields: key first, then treatment, then observation; then the programs'
/// hashes.
std::vector<FieldDifference> differences_of(const Manifest& a, const Manifest& b);

/// Whether one of the key is among them.
bool of_other_machines(const std::vector<FieldDifference>& fields);

/// Lines of the configurations of two folders of runs, where studies made both, as below.
std::vector<std::string> config_differences(const std::filesystem::path& a,
                                            const std::filesystem::path& b);

/// Lines that only `a` has as "- line", then those that only `b` has as "+ line".
std::vector<std::string> line_differences(const std::string& a, const std::string& b);

// In what two runs differ, for the terminal and as JSON.

/// A heading for each set and a line for each field: "  cpu_model: Xeon -> EPYC"; then the lines of
/// the configuration.
std::string difference_table(const std::vector<FieldDifference>& fields,
                             const std::vector<std::string>& config);

/// [{"set": ..., "field": ..., "a": ..., "b": ...}]
nlohmann::json json_of(const std::vector<FieldDifference>& fields);

}  // namespace scalebench
