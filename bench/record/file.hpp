// SPDX-License-Identifier: Apache-2.0
// Whole files: read at once, or replaced so that a reader or a power cut sees the old or the new
// one, never a part.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace scalebench {

/// The bytes of a file. Throws UsageError (path and reason) when it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// Replaces `path` by `text`: temporary file in the same folder, fsync, rename, fsync of the
/// folder. Throws Error (path and reason); the old file, if any, is then untouched.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Whether `path` is a temporary file that an interrupted write_file_atomically left behind.
bool is_temporary_file(const std::filesystem::path& path);

}  // namespace scalebench
