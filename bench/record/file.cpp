// SPDX-License-Identifier: Apache-2.0
#include "bench/record/file.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>
#include <vector>

#include "bench/machine/descriptor.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kTemporaryMark = ".tmp-";

}  // namespace

int write_all(int descriptor, std::string_view text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(descriptor, text.data() + written, text.size() - written);
    if (n >= 0) {
      written += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      const int reason = errno;
      struct stat now {};
      if (written > 0 && ::fstat(descriptor, &now) == 0) {
        // Nothing better can be done when this fails too: readers drop a torn last line.
        [[maybe_unused]] const int ignored =
            ::ftruncate(descriptor, now.st_size - static_cast<off_t>(written));
      }
      return reason;
    }
  }
  return 0;
}

std::string read_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open())
    fail<UsageError>("cannot open '{}': {}", path.string(), std::strerror(errno));
  std::string text;
  std::string block(std::size_t{1} << 16U, '\0');
  while (true) {
    const ssize_t n = ::read(file.number(), block.data(), block.size());
    if (n == 0) return text;
    if (n > 0) text.append(block, 0, static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) {
      fail<UsageError>("cannot read '{}': {}", path.string(), std::strerror(errno));
    }
  }
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const std::string hidden =
      fmt::format(".{}{}{:08x}", path.filename().string(), kTemporaryMark, std::random_device()());
  const std::string temporary = (folder / hidden).string();
  const std::string what = fmt::format("cannot write '{}'", path.string());
  const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.is_open()) refuse_write(what, errno);
  int reason = write_all(file.number(), text);
  const auto stands = [&] {
    return ::fsync(file.number()) == 0 && ::rename(temporary.c_str(), path.c_str()) == 0;
  };
  if (reason == 0 && !stands()) reason = errno;
  if (reason != 0) {
    ::unlink(temporary.c_str());
    refuse_write(what, reason, text.size());
  }
  const Descriptor itself(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some network file systems cannot sync a folder; the rename has happened all the same.
  if (itself.is_open()) ::fsync(itself.number());
}

bool means_disk_full(int reason) { return reason == ENOSPC || reason == EDQUOT || reason == EFBIG; }

bool means_bad_path(int reason) {
  constexpr std::array kOfPaths{EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG};
  return std::ranges::find(kOfPaths, reason) != kOfPaths.end();
}

void heed_file_size_limit() { std::signal(SIGXFSZ, SIG_IGN); }

void refuse_write(std::string_view what, int reason, std::optional<std::size_t> bytes) {
  if (means_bad_path(reason)) fail<UsageError>("{}: {}", what, std::strerror(reason));
  if (!means_disk_full(reason)) fail("{}: {}", what, std::strerror(reason));
  const std::string needed = bytes ? fmt::format(" ({} bytes are needed)", *bytes) : "";
  fail<DiskFull>("{}: {}{}", what, std::strerror(reason), needed);
}

void require_space(const std::filesystem::path& folder, std::uintmax_t bytes) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error || space.available >= bytes) return;
  fail<DiskFull>("'{}' has {} bytes free and {} are needed", folder.string(), space.available,
                 bytes);
}

void remove_temporary_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (is_temporary_file(entry.path())) found.push_back(entry.path());
  }
  for (const std::filesystem::path& path : found) std::filesystem::remove(path);
}

bool is_temporary_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with('.') && name.find(kTemporaryMark) != std::string::npos;
}

std::string utc_label(std::time_t seconds_since_1970) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds_since_1970));
}

std::string utc_name(std::time_t seconds_since_1970) {
  return fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(seconds_since_1970));
}

}  // namespace scalebench
