// SPDX-License-Identifier: Apache-2.0
#include "bench/record/folder_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>

#include "bench/machine/identity.hpp"
#include "bench/record/file.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLockFile = ".lock";
constexpr std::string_view kAloneFile = ".lock.alone";

std::string holder_text() { return fmt::format("{} {}\n", ::getpid(), own_host_name()); }

struct Holder {
  int process = 0;
  std::string host;
};

Holder holder_in(const fs::path& path) {
  Holder holder;
  try {
    std::istringstream(read_file(path)) >> holder.process >> holder.host;
  } catch (const UsageError&) {
    // It has just been given back.
  }
  return holder;
}

/// The inode that a path names now is the one behind the descriptor.
bool is_still(const fs::path& path, int descriptor) {
  struct stat there {
  }, here{};
  return ::stat(path.c_str(), &there) == 0 && ::fstat(descriptor, &here) == 0 &&
         there.st_ino == here.st_ino && there.st_dev == here.st_dev;
}

[[noreturn]] void refuse(const fs::path& folder, const Holder& holder) {
  const std::string who = holder.process > 0
                              ? fmt::format("process {} on {}", holder.process, holder.host)
                              : std::string("another process");
  fail<UsageError>("'{}' is being written by {}; wait until that has ended", folder.string(), who);
}

}  // namespace

bool FolderLock::create_alone() {
  const fs::path path = path_.parent_path() / kAloneFile;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
      const std::string text = holder_text();
      const bool written =
          ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
      ::close(descriptor);
      if (!written) fail("cannot write '{}': {}", path.string(), std::strerror(errno));
      path_ = path;
      return alone_ = true;
    }
    if (errno != EEXIST) fail("cannot make '{}': {}", path.string(), std::strerror(errno));
    const Holder holder = holder_in(path);
    const bool is_gone = holder.host == own_host_name() && holder.process > 0 &&
                         ::kill(holder.process, 0) != 0 && errno == ESRCH;
    if (!is_gone) {
      fail<UsageError>("'{}' is being written by process {} on {}; if that has ended, remove '{}'",
                       path.parent_path().string(), holder.process, holder.host, path.string());
    }
    fs::remove(path);
  }
  return false;
}

bool FolderLock::take(const Flock& flock) {
  while (true) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail("cannot make '{}': {}", path_.string(), std::strerror(errno));
    const int result = flock(descriptor_, LOCK_EX | LOCK_NB);
    const int reason = errno;
    // The holder before may have removed it between the opening and the lock.
    if (result == 0 && is_still(path_, descriptor_)) {
      const std::string text = holder_text();
      const bool named =
          ::ftruncate(descriptor_, 0) == 0 && ::write(descriptor_, text.data(), text.size()) > 0;
      // A full disk costs the name of the holder, not the lock.
      static_cast<void>(named);
      return true;
    }
    ::close(std::exchange(descriptor_, -1));
    if (result == 0) continue;
    if (reason == EWOULDBLOCK) return false;
    if (reason == EINTR) continue;
    return create_alone();
  }
}

FolderLock::FolderLock(const fs::path& folder, const Flock& flock) : path_(folder / kLockFile) {
  if (!take(flock)) refuse(folder, holder_in(path_));
}

FolderLock FolderLock::wait_for(const fs::path& folder) {
  for (int tries = 0;; ++tries) {
    try {
      return FolderLock(folder);
    } catch (const UsageError&) {
      if (tries >= 6000) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

FolderLock::~FolderLock() {
  if (descriptor_ < 0 && !alone_) return;
  ::unlink(path_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      alone_(std::exchange(other.alone_, false)) {}

bool is_lock_file(const fs::path& path) {
  const fs::path name = path.filename();
  return name == kLockFile || name == kAloneFile;
}

NightlyLock::NightlyLock(const std::filesystem::path& results) {
  std::error_code ignored;  // opening the file says what is wrong
  std::filesystem::create_directories(results, ignored);
  const std::filesystem::path path = results / ".nightly.lock";
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    fail<UsageError>("cannot write '{}': {}; choose another folder with --results", path.string(),
                     std::strerror(errno));
  }
  held_ = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  if (!held_ && errno != EWOULDBLOCK) {
    const int reason = errno;
    ::close(descriptor_);
    fail<UsageError>("cannot lock '{}': {}; choose a folder on a local disk with --results",
                     path.string(), std::strerror(reason));
  }
  if (!held_) {
    holder_ = read_file(path);
    while (holder_.ends_with('\n')) holder_.pop_back();
    return;
  }
  const std::string text =
      fmt::format("pid {} on {} since {}\n", ::getpid(), own_host_name(), utc_label());
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::write(descriptor_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    fail<UsageError>("cannot write '{}': {}", path.string(), std::strerror(errno));
  }
}

NightlyLock::~NightlyLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace scalebench
