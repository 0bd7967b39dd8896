// SPDX-License-Identifier: Apache-2.0
// How deep a JSON text goes, asked before it is parsed: what prints, copies or compares a value
// calls itself at each level, and a file of a hundred thousand brackets would overflow the stack.
#pragma once

#include <cstddef>
#include <string_view>

namespace scalebench {

inline constexpr std::size_t kDeepestJson = 100;

/// Brackets and braces are open in each other at most that often; those in texts do not count.
inline bool is_shallow_json(std::string_view text, std::size_t deepest = kDeepestJson) {
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
      if (++depth > deepest) return false;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return true;
}

}  // namespace scalebench
