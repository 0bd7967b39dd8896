// SPDX-License-Identifier: Apache-2.0
// What verbs print for programs: one JSON document on stdout that says which schema it has.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// --json.
void add_json_option(CLI::App& verb, bool& as_json);

/// `body`, an object, with schema_version, and a line end. Text that is no UTF-8 is replaced.
std::string document(nlohmann::json body);

/// Column: cell. Names and texts stay texts, the rest are numbers, or null where nothing is known.
nlohmann::json json_of(const ResultRow& row);

}  // namespace scalebench
