// SPDX-License-Identifier: Apache-2.0
// In what two runs differ beside their numbers: the machine, the software and the programs.
// Manifests in, fields out.
#pragma once

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

/// A heading for each set and a line for each field: "  cpu_model: Xeon -> EPYC".
std::string difference_table(const std::vector<FieldDifference>& fields);

}  // namespace scalebench
