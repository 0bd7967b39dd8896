// SPDX-License-Identifier: Apache-2.0
#include "bench/record/results_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <system_error>

#include "bench/record/file.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRemedy = "choose another folder with --out";

/// Names become parts of paths, so no separator, no leading dot, and nothing a shell would expand.
void require_plain(std::string_view kind, std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789._-";
  const bool plain = !name.empty() && name.size() <= 64 && name.front() != '.' &&
                     name.find_first_not_of(kAllowed) == std::string_view::npos;
  if (!plain) {
    fail<UsageError>(
        "{} '{}' cannot be part of a folder's name: use 1 to 64 of a-z 0-9 . _ - and "
        "do not begin with a dot",
        kind, name);
  }
}

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

/// Makes exactly this folder: false when it is there already.
bool make_new(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0777) == 0) return true;
  if (errno == EEXIST) return false;
  fail<UsageError>("cannot make the results folder '{}': {}; {}", folder.string(),
                   std::strerror(errno), kRemedy);
}

/// Of two runs that were given the same folder, one gets it.
void claim(const fs::path& folder) {
  const fs::path manifest = folder / "manifest.json";
  const int descriptor = ::open(manifest.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor >= 0) {
    ::close(descriptor);
  } else if (errno == EEXIST) {
    fail<UsageError>("another run has just begun in '{}'; {}", folder.string(), kRemedy);
  } else {
    fail<UsageError>("cannot make '{}': {}; {}", manifest.string(), std::strerror(errno), kRemedy);
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

ResultsFolder ResultsFolder::create(const fs::path& parent, std::string_view study,
                                    std::uintmax_t bytes_needed) {
  require_plain("study", study);
  make_with_parents(parent);
  require_room(parent, bytes_needed);
  std::random_device random;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string name = fmt::format("{}-{}-{:06x}", utc_name(), study, random() & 0xffffffU);
    if (make_new(parent / name)) return ResultsFolder(parent / name);
  }
  fail("100 random names in '{}' were all taken", parent.string());
}

ResultsFolder ResultsFolder::at(const fs::path& folder, std::uintmax_t bytes_needed) {
  make_with_parents(folder);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path name = entry.path().filename();
    if (name == "manifest.json" || name.extension() == ".csv") {
      fail<UsageError>("'{}' already holds a run ({}); remove it or {}", folder.string(),
                       name.string(), kRemedy);
    }
  }
  require_room(folder, bytes_needed);
  claim(folder);
  // "runs/a/", "." and ".." have a last component only once they are spelled out.
  return ResultsFolder(fs::canonical(folder));
}

ResultsFolder ResultsFolder::of_run(const fs::path& folder) {
  if (!fs::exists(folder / "manifest.json")) {
    fail<UsageError>("'{}' is no run: it has no manifest.json", folder.string());
  }
  return ResultsFolder(fs::canonical(folder));
}

fs::path ResultsFolder::make_launch(int number, std::string_view name) const {
  require_plain("launch", name);
  fs::path folder = path_ / "launches";
  make_with_parents(folder);
  folder /= fmt::format("{:03}-{}", number, name);
  if (!make_new(folder)) fail("the launch folder '{}' is there already", folder.string());
  return folder;
}

}  // namespace scalebench
