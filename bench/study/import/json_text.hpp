// SPDX-License-Identifier: Apache-2.0
// Foreign JSON: parsed with a place in the complaint, and read without exceptions for what is not
// there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace scalebench {

/// Throws UsageError `file:line:column: what`. A byte order mark is skipped.
nlohmann::json parse_foreign_json(std::string_view text, const std::string& file);

/// The member as text, numbers as they are written; empty when it is absent, null or a structure.
std::string member_text(const nlohmann::json& object, const char* name);

/// The member, or null (a JSON null) when it is absent.
const nlohmann::json& member(const nlohmann::json& object, const char* name);

}  // namespace scalebench
