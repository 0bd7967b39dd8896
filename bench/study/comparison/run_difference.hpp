// SPDX-License-Identifier: Apache-2.0
// In what two runs differ beside their numbers: the machine, the software, the programs, how they
// were started, and the configuration. Manifests in, fields out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/environment.hpp"
#include "bench/record/manifest.hpp"

namespace scalebench {

/// One field as both sides have it. Unknown is "unknown (reason)"; a field that a manifest does not
/// have at all is "not recorded".
struct FieldDifference {
  std::string_view set;  // key, treatment, observation, binaries, launchers, run
  std::string field;
  std::string a;
  std::string b;

  bool equal() const { return a == b; }
};

/// Every field that either environment has: key first, then treatment, then observation.
std::vector<FieldDifference> fields_of(const Environment& a, const Environment& b);

/// The same, and what the rest of the manifests says: the programs' hashes, how launches were
/// started (the launcher's words up to the program), the command, the seed.
std::vector<FieldDifference> fields_of(const Manifest& a, const Manifest& b);

/// Those that differ, of one set or of all.
std::vector<FieldDifference> differing(const std::vector<FieldDifference>& fields,
                                       std::string_view set = "");

/// Lines that only `a` has as "- line", only `b` as "+ line", in order (longest common
/// subsequence); empty when the texts are equal.
std::vector<std::string> line_differences(const std::string& a, const std::string& b);

// In what two runs differ, for the terminal and as JSON.

/// A heading for each set and a line for each field: "  cpu_model: Xeon -> EPYC".
std::string difference_table(const std::vector<FieldDifference>& fields);

/// [{"set": ..., "field": ..., "a": ..., "b": ...}]
nlohmann::json json_of(const std::vector<FieldDifference>& fields);

}  // namespace scalebench
