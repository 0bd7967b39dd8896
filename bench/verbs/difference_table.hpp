// SPDX-License-Identifier: Apache-2.0
// In what two runs differ, for the terminal and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/study/run_difference.hpp"

namespace scalebench {

/// A heading for each set and a line for each field: "  cpu_model: Xeon -> EPYC".
std::string difference_table(const std::vector<FieldDifference>& fields);

/// [{"set": ..., "field": ..., "a": ..., "b": ...}]
nlohmann::json json_of(const std::vector<FieldDifference>& fields);

}  // namespace scalebench
