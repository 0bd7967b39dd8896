// SPDX-License-Identifier: Apache-2.0
// One night at a time for each results folder: results/.nightly.lock, which the kernel lets go when
// its holder ends, however that happens.
#pragma once

#include <filesystem>
#include <string>

namespace scalebench {

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

std::string host_name();

}  // namespace scalebench
