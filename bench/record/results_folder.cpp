// SPDX-License-Identifier: Apache-2.0
#include "bench/record/results_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <system_error>

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
    fs::remove(probe);
    require_space(folder, bytes_needed);
  } catch (const std::exception& error) {
    fail<UsageError>("the results folder '{}' cannot be used ({}); {}", folder.string(),
                     error.what(), kRemedy);
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

/// The first line of a lock's file, where its holder came to write one.
std::string holder_in(const fs::path& path) {
  const std::string text = read_file(path);
  const std::string line = text.substr(0, text.find('\n'));
  return line.empty() ? "another process" : line;
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder) {
  const fs::path path = folder / kLockFile;
  descriptor_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  // The file of another user is as good a lock, and keeps the name of who wrote it last.
  const bool is_others = !descriptor_.is_open() && errno == EACCES;
  if (is_others) descriptor_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor_.is_open()) refuse_write(fmt::format("cannot make '{}'", path.string()), errno);
  if (::flock(descriptor_.number(), LOCK_EX | LOCK_NB) == 0) {
    // A full disk costs the name of the holder, not the lock.
    if (is_others || ::ftruncate(descriptor_.number(), 0) != 0) return;
    write_all(descriptor_.number(), fmt::format("process {} on {}\n", ::getpid(), own_host_name()));
  } else if (errno == EWOULDBLOCK) {
    fail<UsageError>("'{}' is being written by {}; wait until that has ended", folder.string(),
                     holder_in(path));
  }
}

bool is_lock_file(const fs::path& path) { return path.filename() == kLockFile; }

}  // namespace scalebench
