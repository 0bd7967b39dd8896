// SPDX-License-Identifier: Apache-2.0
// The folder that belongs to one run. Whether it can hold the run (writable, enough room, nobody
// else's) is found before anything is measured, and every refusal is a UsageError that names the
// path, the reason and the remedy.
#pragma once

#include <sys/file.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "bench/machine/descriptor.hpp"

namespace scalebench {

/// Whether it can be part of a folder's name without a separator, a leading dot, or anything that a
/// shell would expand.
bool is_plain_name(std::string_view name);
inline constexpr std::string_view kPlainNames =
    "part of a folder's name: 1 to 64 of a-z 0-9 . _ -, and no dot at the begin";

/// `name` as one that is: lower case, at most 48 of [a-z0-9._-], no dot first.
std::string plain_name(const std::string& name);

class ResultsFolder {
 public:
  /// Makes `parent/<YYYYMMDDTHHMMSSZ>-<study>-<6 hex digits>/`, always a new one, and `parent` if
  /// need be. `study` consists of [a-z0-9._-]. `bytes_needed` must be free.
  static ResultsFolder create(const std::filesystem::path& parent, std::string_view study,
                              std::uintmax_t bytes_needed);

  /// The folder that the user names with --out: made when it is not there; refused when another run
  /// has left its manifest or a CSV in it.
  static ResultsFolder at(const std::filesystem::path& folder, std::uintmax_t bytes_needed);

  /// A run that is there already, to go on with it. Throws UsageError unless `folder` is one.
  static ResultsFolder of_run(const std::filesystem::path& folder);

  /// Gives the manifest's place back, which `at` has taken: for what is made of runs and is none
  /// itself (a comparison, a prediction), once its own files keep others out.
  void release() const;

  const std::filesystem::path& path() const { return path_; }
  /// Last component of the path.
  std::string run_id() const { return path_.filename().string(); }
  /// Makes `launches/<NNN>-<name>/`, always a new one. `name` consists of [a-z0-9._-].
  std::filesystem::path make_launch(int number, std::string_view name) const;

 private:
  explicit ResultsFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// Whether a run has only taken the folder: nothing is known of it yet, or ever, where it was
/// killed then.
bool is_only_taken(const std::filesystem::path& folder);

/// A file in a launch's folder for as long as its program has not come to its end: an exit code
/// alone may be that of a rank which a library has ended with exit(0), or of a launcher that lost
/// it.
inline constexpr const char* kUnfinishedFile = "unfinished";

/// Throws UsageError unless a file can be written in `folder`, which exists, and `bytes_needed` are
/// free there.
void require_room(const std::filesystem::path& folder, std::uintmax_t bytes_needed);

// One writer at a time in a run's folder, or in what runs share: an flock on a hidden file, which
// the kernel gives back however the holder ends. Where a file system has no locks (some NFS): a
// file that only one can create, and that a user removes where a killed run has left it.

class FolderLock {
 public:
  /// flock(2), or in tests one that fails.
  using Flock = std::function<int(int descriptor, int operation)>;

  /// Takes `folder/.lock` at once. Throws UsageError, one line that names the holder (process and
  /// host), when another has it; Error when the file cannot be made.
  explicit FolderLock(const std::filesystem::path& folder, const Flock& flock = ::flock);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

  /// Throws UsageError when the folder has been moved or removed since, or its file has: what lies
  /// at its path is now another's.
  void require_held() const;

 private:
  bool take(const Flock& flock);
  bool is_held() const;
  /// Where there are no locks: true when this process has created the file.
  bool create_alone();

  std::filesystem::path path_;
  Descriptor descriptor_;
  bool alone_ = false;  // held by having created it
};

/// Whether `path` is the file of a lock, which is no part of a run.
bool is_lock_file(const std::filesystem::path& path);

}  // namespace scalebench
