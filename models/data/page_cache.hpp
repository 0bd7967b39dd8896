// SPDX-License-Identifier: Apache-2.0
// Whether the operating system holds files in memory: how to make it drop or read them, and how
// much of them it holds. What is asked for is not always what one gets (tmpfs drops nothing,
// another process may use the files), hence the measurement. Sources: posix_fadvise(2), mincore(2).
#pragma once

#include <cstdint>
#include <filesystem>

namespace scalebench {

/// Writes what is not on disk yet and drops the file's pages. Throws Error when the file cannot be
/// opened; a file system that keeps the pages is no error.
void drop_from_page_cache(const std::filesystem::path& file);

/// Reads the whole file. Throws Error when it cannot be opened or read.
void read_into_page_cache(const std::filesystem::path& file);

struct Residency {
  std::int64_t pages = 0;
  std::int64_t resident = 0;
  /// Files of which Linux tells only their owner and those who may write to them.
  std::int64_t unknown_files = 0;

  Residency& operator+=(const Residency& other);
};

/// Pages of one file, and how many of them are in memory. Throws Error when it cannot be opened.
Residency residency_of(const std::filesystem::path& file);

}  // namespace scalebench
