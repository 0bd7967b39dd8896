// SPDX-License-Identifier: Apache-2.0
#include "bench/record/results_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <sstream>
#include <system_error>
#include <utility>

#include "bench/machine/identity.hpp"
#include "bench/record/file.hpp"
#include "kernels/error.hpp"

namespace scalebench {

bool is_plain_name(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789._-";
  return !name.empty() && name.size() <= 64 && name.front() != '.' &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::string plain_name(const std::string& name) {
  std::string plain;
  for (const char c : name.substr(0, 48)) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                      (c == '.' && !plain.empty());
    plain += upper ? static_cast<char>(c - 'A' + 'a') : kept ? c : '-';
  }
  return plain.empty() ? "file" : plain;
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRemedy = "choose another folder with --out";

void make_with_parents(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && !fs::is_directory(folder, error)) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) {
    fail<UsageError>("cannot make the results folder '{}': {}; {}", folder.string(),
                     error.message(), kRemedy);
  }
}

}  // namespace

void require_room(const fs::path& folder, std::uintmax_t bytes_needed) {
  // Asking by writing: permissions, read-only mounts and quotas in one question.
  const fs::path probe = folder / ".write-test";
  try {
    write_file_atomically(probe, "1");
  } catch (const Error& error) {
    fail<UsageError>("the results folder '{}' is not writable ({}); {}", folder.string(),
                     error.what(), kRemedy);
  }
  std::error_code error;
  fs::remove(probe, error);
  const fs::space_info space = fs::space(folder, error);
  if (!error && space.available < bytes_needed) {
    fail<UsageError>(
        "the results folder '{}' has {:.1f} MB free and the run may need {:.1f} MB; "
        "free some space or {}",
        folder.string(), static_cast<double>(space.available) / 1e6,
        static_cast<double>(bytes_needed) / 1e6, kRemedy);
  }
}

std::string new_run_name(std::string_view study) {
  if (!is_plain_name(study)) {
    fail<UsageError>("study name '{}': expected {}", study, kPlainNames);
  }
  return fmt::format("{}-{}-{:06x}", utc_name(), study, std::random_device()() & 0xffffffU);
}

fs::path new_run_folder(const fs::path& parent, std::string_view study,
                        std::uintmax_t bytes_needed) {
  fs::path folder = parent / new_run_name(study);
  make_with_parents(parent);
  require_room(parent, bytes_needed);
  while (!fs::create_directory(folder)) folder = parent / new_run_name(study);
  return folder;
}

fs::path own_folder(const fs::path& folder, std::uintmax_t bytes_needed) {
  // Its name stands in each row, where a line break cannot.
  if (std::ranges::any_of(folder.string(), [](unsigned char letter) { return letter < ' '; })) {
    fail<UsageError>("'{}' has a control character in its name; {}", folder.string(), kRemedy);
  }
  make_with_parents(folder);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path name = entry.path().filename();
    // Launches that were left there would count as the new run's own.
    const bool of_run = name == "manifest.json" || name == "launches" || name == "COMPLETE";
    if (of_run || name.extension() == ".csv") {
      fail<UsageError>("'{}' already holds a run ({}); remove the whole folder or {}",
                       folder.string(), name.string(), kRemedy);
    }
  }
  require_room(folder, bytes_needed);
  // "runs/a/", "." and ".." have a last component only once they are spelled out.
  return fs::canonical(folder);
}

namespace {

constexpr std::string_view kLockFile = ".lock";
constexpr std::string_view kAloneFile = ".lock.alone";

/// Whether all of it was written: who holds the lock.
bool write_holder(int descriptor, const std::string& text) {
  return ::ftruncate(descriptor, 0) == 0 &&
         ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

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

/// Opens the file of a lock, and makes it. Only its owner can: whoever may read a file can lock it,
/// and keep everybody else waiting. Not open, with errno, where it fails.
Descriptor open_lock(const fs::path& path) {
  return Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

/// The inode that a path names now is the one behind the descriptor.
bool is_still(const fs::path& path, int descriptor) {
  struct stat there {
  }, here{};
  return ::stat(path.c_str(), &there) == 0 && ::fstat(descriptor, &here) == 0 &&
         there.st_ino == here.st_ino && there.st_dev == here.st_dev;
}

std::string described(const Holder& holder) {
  return holder.process > 0 ? fmt::format("process {} on {}", holder.process, holder.host)
                            : std::string("another process");
}

[[noreturn]] void refuse(const fs::path& folder, const Holder& holder) {
  const fs::path path = folder / kLockFile;
  struct stat there {};
  // Only its owner can open it.
  if (::lstat(path.c_str(), &there) == 0 && there.st_uid != ::geteuid()) {
    fail<UsageError>(
        "'{}' is being written by user {}; wait until that has ended, or have '{}' removed where "
        "it was killed",
        folder.string(), there.st_uid, path.string());
  }
  fail<UsageError>("'{}' is being written by {}; wait until that has ended", folder.string(),
                   described(holder));
}

}  // namespace

bool FolderLock::create_alone() {
  const fs::path path = path_.parent_path() / kAloneFile;
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.is_open() && errno == EEXIST) {
    fail<UsageError>("'{}' is being written by {}; if that has ended, remove '{}'",
                     path.parent_path().string(), described(holder_in(path)), path.string());
  }
  if (!file.is_open()) refuse_write(fmt::format("cannot make '{}'", path.string()), errno);
  if (!write_holder(file.number(), holder_text())) {
    const int reason = errno;
    ::unlink(path.c_str());
    refuse_write(fmt::format("cannot write '{}'", path.string()), reason);
  }
  path_ = path;
  return alone_ = true;
}

bool FolderLock::take(const Flock& flock) {
  while (true) {
    descriptor_ = open_lock(path_);
    if (!descriptor_.is_open()) {
      const int why = errno;
      if (why == EACCES && fs::exists(path_)) return false;  // another user's
      refuse_write(fmt::format("cannot make '{}'", path_.string()), why);
    }
    const int result = flock(descriptor_.number(), LOCK_EX | LOCK_NB);
    const int reason = errno;
    // The holder before may have removed it between the opening and the lock.
    if (result == 0 && is_still(path_, descriptor_.number())) {
      // A full disk costs the name of the holder, not the lock.
      static_cast<void>(write_holder(descriptor_.number(), holder_text()));
      return true;
    }
    descriptor_ = Descriptor();
    if (result == 0) continue;
    if (reason == EWOULDBLOCK) return false;
    if (reason == EINTR) continue;
    return create_alone();
  }
}

FolderLock::FolderLock(const fs::path& folder, const Flock& flock) : path_(folder / kLockFile) {
  if (!take(flock)) refuse(folder, holder_in(path_));
}

FolderLock::~FolderLock() {
  if (is_held()) ::unlink(path_.c_str());
}

bool FolderLock::is_held() const {
  if (alone_) return holder_in(path_).process == ::getpid();
  return descriptor_.is_open() && is_still(path_, descriptor_.number());
}

void FolderLock::require_held() const {
  if (is_held()) return;
  fail<UsageError>(
      "'{}' is no longer the folder that this run began in: it, or its {}, was moved or removed; "
      "what was measured is where it is now",
      path_.parent_path().string(), path_.filename().string());
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::move(other.descriptor_)),
      alone_(std::exchange(other.alone_, false)) {}

bool is_lock_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == kLockFile || name == kAloneFile;
}

}  // namespace scalebench
