// SPDX-License-Identifier: Apache-2.0
// Bytes as text: two lower-case hex digits each.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace scalebench {

inline std::string hexadecimal(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// SHA-256 as 64 lower-case hex digits: of a text, and of a file's bytes (what `sha256sum` prints).

std::string sha256_of(std::string_view text);

/// Reads the file in blocks, whatever its size. Throws Error (path and reason) when it cannot.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace scalebench
