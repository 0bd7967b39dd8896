// SPDX-License-Identifier: Apache-2.0
// Whole files: read at once, or replaced so that a reader or a power cut sees the old or the new
// one, never a part.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/error.hpp"

namespace scalebench {

/// No room is left: disk, quota, or the largest file that is allowed. What was there is untouched.
class DiskFull : public Error {
 public:
  using Error::Error;
};
/// Whether this errno means that.
bool means_disk_full(int reason);
/// Whether this errno says that a path leads nowhere, or nowhere that the user may go.
bool means_bad_path(int reason);
/// Throws "WHAT: REASON" for an errno: DiskFull, with the `bytes` that are needed, where it
/// means that; UsageError where it is the path; else Error.
[[noreturn]] void refuse_write(std::string_view what, int reason,
                               std::optional<std::size_t> bytes = {});

/// From now on a write beyond the largest file that is allowed (ulimit -f) fails, with DiskFull,
/// instead of ending this process by SIGXFSZ.
void heed_file_size_limit();

/// Throws DiskFull unless `bytes` are free where `folder` lies.
void require_space(const std::filesystem::path& folder, std::uintmax_t bytes);

/// The bytes of a file. Throws UsageError (path and reason) when it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// Writes all of `text` at the end of a file, or takes back what of it was written. Returns 0 or
/// the errno of the failure.
int write_all(int descriptor, std::string_view text);

/// Replaces `path` by `text`: temporary file in the same folder, fsync, rename, fsync of the
/// folder. Throws Error (path and reason), DiskFull when it is that; the old file, if any, is then
/// untouched.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Removes what interrupted calls of write_file_atomically left in `folder` itself.
void remove_temporary_files(const std::filesystem::path& folder);

/// Whether `path` is a temporary file that an interrupted write_file_atomically left behind.
bool is_temporary_file(const std::filesystem::path& path);

// The wall clock, as a label only: it may step back, so nothing is ever measured with it.

/// "2026-03-01T04:05:06Z", for a manifest.
std::string utc_label(std::time_t seconds_since_1970 = std::time(nullptr));

/// "20260301T040506Z", for a folder's name.
std::string utc_name(std::time_t seconds_since_1970 = std::time(nullptr));

}  // namespace scalebench
