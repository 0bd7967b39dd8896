// SPDX-License-Identifier: Apache-2.0
// Bytes as text: two lower-case hex digits each.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>

namespace scalebench {

inline std::string hexadecimal(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace scalebench
