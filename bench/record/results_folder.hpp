// SPDX-License-Identifier: Apache-2.0
// The folder that belongs to one run. Whether it can hold the run (writable, enough room, nobody
// else's) is found before anything is measured, and every refusal is a UsageError that names the
// path, the reason and the remedy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "bench/machine/descriptor.hpp"

namespace scalebench {

/// Whether it can be part of a folder's name without a separator, a leading dot, or anything that a
/// shell would expand.
bool is_plain_name(std::string_view name);
inline constexpr std::string_view kPlainNames =
    "part of a folder's name: 1 to 64 of a-z 0-9 . _ -, and no dot at the begin";

/// `name` as one that is: lower case, at most 48 of [a-z0-9._-], no dot first.
std::string plain_name(const std::string& name);

/// "20260301T040506Z-smoke-0a1b2c": UTC, the study's name, six hex digits of chance. Throws
/// UsageError unless `study` is a plain name.
std::string new_run_name(std::string_view study);

/// Makes `parent/new_run_name(study)`, always a new one, and `parent` if need be. `bytes_needed`
/// must be free. The run is called as its folder.
std::filesystem::path new_run_folder(const std::filesystem::path& parent, std::string_view study,
                                     std::uintmax_t bytes_needed);

/// The folder that the user names with --out, spelled out: made when it is not there; refused when
/// a run has left its manifest or a CSV in it. Of two that come at once, the first to make its lock
/// or its first CSV gets it.
std::filesystem::path own_folder(const std::filesystem::path& folder, std::uintmax_t bytes_needed);

/// A file in a launch's folder for as long as its program has not come to its end: an exit code
/// alone may be that of a rank which a library has ended with exit(0), or of a launcher that lost
/// it.
inline constexpr const char* kUnfinishedFile = "unfinished";

/// Throws UsageError unless a file can be written in `folder`, which exists, and `bytes_needed` are
/// free there.
void require_room(const std::filesystem::path& folder, std::uintmax_t bytes_needed);

/// One writer at a time in a run's folder, or in what runs share: an flock on `folder/.lock`, which
/// the kernel gives back however the holder ends. The file stays. Where a file system has no locks
/// (some NFS) nobody is kept out.
class FolderLock {
 public:
  /// Throws UsageError, one line that names the holder (process and host), when another has it, and
  /// when the file cannot be made.
  explicit FolderLock(const std::filesystem::path& folder);

 private:
  Descriptor descriptor_;
};

/// Whether `path` is the file of a lock, which is no part of a run.
bool is_lock_file(const std::filesystem::path& path);

}  // namespace scalebench
