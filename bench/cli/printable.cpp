// SPDX-License-Identifier: Apache-2.0
#include "bench/cli/printable.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace scalebench {
namespace {

/// The code point at the start of `text` and its length in bytes; one byte where it is no UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
};
CodePoint first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto follows = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xc0U) == 0x80U; };
  if (byte(0) >= 0xc0U && byte(0) < 0xe0U && follows(1)) {
    return {(byte(0) & 0x1fU) << 6U | (byte(1) & 0x3fU), 2};
  }
  if (byte(0) >= 0xe0U && byte(0) < 0xf0U && follows(1) && follows(2)) {
    return {(byte(0) & 0x0fU) << 12U | (byte(1) & 0x3fU) << 6U | (byte(2) & 0x3fU), 3};
  }
  return {byte(0), 1};
}

bool steers(CodePoint point) {
  const std::uint32_t value = point.value;
  const bool control =
      value < 0x20 || (value >= 0x7f && value < 0xa0 && (point.bytes > 1 || value == 0x7f));
  const bool direction = (value >= 0x202a && value <= 0x202e) ||
                         (value >= 0x2066 && value <= 0x2069) || value == 0x200e ||
                         value == 0x200f || value == 0x61c;
  return control || direction;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const CodePoint point = first_of(text);
    if (!steers(point)) {
      shown += text.substr(0, point.bytes);
    } else if (point.value < 0x100) {
      shown += fmt::format("\\x{:02x}", point.value);
    } else {
      shown += fmt::format("\\u{:04x}", point.value);
    }
    text.remove_prefix(point.bytes);
  }
  return shown;
}

}  // namespace scalebench
