// SPDX-License-Identifier: Apache-2.0
// SHA-256 as 64 lower-case hex digits: of a text, and of a file's bytes (what `sha256sum` prints).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace scalebench {

std::string sha256_of(std::string_view text);

/// Reads the file in blocks, whatever its size. Throws Error (path and reason) when it cannot.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace scalebench
