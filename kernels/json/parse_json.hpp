// SPDX-License-Identifier: Apache-2.0
// JSON of others, with the same rules for whoever reads it. How deep it may go has a limit: what
// prints, copies or compares a value calls itself at each level, and a file of a hundred thousand
// brackets would overflow the stack. No key may stand twice in an object: JSON does not say which
// of the two counts, and readers differ.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace scalebench {

/// The value of `text`, which stands in `name`: a file, or a variable. Json: nlohmann's json or
/// ordered_json. A byte order mark is skipped. Throws UsageError `name:line:column: what; valid`
/// where it is no JSON; `name: what; valid` where it is more than 100 levels deep, has a key twice,
/// which is named, or a number that no double holds, which is.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text, const std::string& name, std::string_view valid = "");

/// For a line that may be anything: null where parse_json() refuses it.
nlohmann::json json_or_null(std::string_view text);

/// A member of what anybody may have sent or written; empty where it is not there, or no text.
std::string text_in(const nlohmann::json& object, const char* member);

}  // namespace scalebench
