// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/error.hpp"

namespace scalebench {

using nlohmann::json;

json parse_foreign_json(std::string_view text, const std::string& file) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(error.byte, text.size()));
    const auto line =
        1 + std::ranges::count(before.substr(0, before.size() - !before.empty()), '\n');
    const std::size_t begin = before.substr(0, before.size() - !before.empty()).rfind('\n');
    const std::size_t column = before.size() - (begin == std::string_view::npos ? 0 : begin + 1);
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...".
    const std::string_view what = error.what();
    const std::size_t colon = what.find(": ");
    fail<UsageError>("{}:{}:{}: not JSON: {}", file, line, column,
                     colon == std::string_view::npos ? what : what.substr(colon + 2));
  }
}

const json& member(const json& object, const char* name) {
  static const json kNull;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? kNull : *found;
}

std::string member_text(const json& object, const char* name) {
  const json& value = member(object, name);
  if (value.is_string()) return value.get<std::string>();
  return value.is_primitive() && !value.is_null() ? value.dump() : "";
}

}  // namespace scalebench
