// SPDX-License-Identifier: Apache-2.0
// JSON of others. How deep it goes is asked before it is parsed: what prints, copies or compares a
// value calls itself at each level, and a file of a hundred thousand brackets would overflow the
// stack. No key may stand twice in an object.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/error.hpp"

namespace scalebench {

inline constexpr std::size_t kDeepestJson = 100;

/// A member of what anybody may have sent or written; empty where it is not there, or no text.
inline std::string text_in(const nlohmann::json& object, const char* member) {
  if (!object.is_object()) return "";
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Brackets and braces are open in each other at most that often; those in texts do not count.
inline bool is_shallow_json(std::string_view text) {
  std::size_t depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepestJson) return false;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return true;
}

/// The value of `text`. Throws json::exception where it is no JSON, and UsageError where an object
/// has a key twice: JSON does not say which of the two counts, and readers differ.
inline nlohmann::json parse_json(const std::string& text) {
  std::vector<std::set<std::string>> keys;  // of the objects around the place that is read
  const auto look = [&](int /*depth*/, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (event == nlohmann::json::parse_event_t::object_start) keys.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end) keys.pop_back();
    if (event == nlohmann::json::parse_event_t::key &&
        !keys.back().insert(value.get<std::string>()).second) {
      fail<UsageError>("key '{}' stands twice in one object", value.get<std::string>());
    }
    return true;
  };
  return nlohmann::json::parse(text, look);
}

}  // namespace scalebench
