// SPDX-License-Identifier: Apache-2.0
// One writer at a time in a run's folder, or in what runs share: an flock on a hidden file, which
// the kernel gives back however the holder ends. Where a file system has no locks (some NFS): a
// file that only one can create, whose holder is looked for when it seems to be left over.
#pragma once

#include <sys/file.h>

#include <filesystem>
#include <functional>
#include <string>

namespace scalebench {

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

  /// Waits for `folder/.lock` up to a minute; for what takes milliseconds.
  static FolderLock wait_for(const std::filesystem::path& folder);

 private:
  bool take(const Flock& flock);
  /// Where there are no locks: true when this process has created the file.
  bool create_alone();

  std::filesystem::path path_;
  int descriptor_ = -1;
  bool alone_ = false;  // held by having created it
};

/// Whether `path` is the file of a lock, which is no part of a run.
bool is_lock_file(const std::filesystem::path& path);

// One night at a time for each results folder: results/.nightly.lock, which the kernel lets go when
// its holder ends, however that happens.

class NightlyLock {
 public:
  /// Makes `results` if need be. Throws UsageError when it cannot hold a lock.
  explicit NightlyLock(const std::filesystem::path& results);
  ~NightlyLock();
  NightlyLock(const NightlyLock&) = delete;
  NightlyLock& operator=(const NightlyLock&) = delete;

  bool held() const { return held_; }
  /// Who has it when we have not: "pid 7 on node0 since 2026-03-01T04:05:06Z".
  const std::string& holder() const { return holder_; }

 private:
  int descriptor_ = -1;
  bool held_ = false;
  std::string holder_;
};

}  // namespace scalebench
