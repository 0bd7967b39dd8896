// SPDX-License-Identifier: Apache-2.0
#include "models/checkpoint_folder.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>

#include "kernels/error.hpp"
#include "models/checkpoint.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kStart = "epoch-";
constexpr std::string_view kEnd = ".ckpt";

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }

 private:
  int number_;
};

bool write_and_sync(const std::filesystem::path& path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) return false;
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return ::fsync(file.get()) == 0;
}

std::optional<int> epochs_in(const std::string& name) {
  if (!name.starts_with(kStart) || !name.ends_with(kEnd)) return {};
  const char* const first = name.data() + kStart.size();
  const char* const last = name.data() + name.size() - kEnd.size();
  int epochs = 0;
  const auto [end, error] = std::from_chars(first, last, epochs);
  return error == std::errc() && end == last ? std::optional(epochs) : std::nullopt;
}

std::string bytes_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  std::string block(std::size_t{1} << 20U, '\0');
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    bytes.append(block, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof()) fail<UsageError>("it cannot be read: {}", std::strerror(errno));
  return bytes;
}

}  // namespace

std::filesystem::path CheckpointFolder::file_of(int epochs) const {
  return path_ / fmt::format("{}{:06}{}", kStart, epochs, kEnd);
}

void CheckpointFolder::prepare() const {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) fail<UsageError>("cannot make the folder '{}': {}", path_.string(), error.message());
  const std::filesystem::path trial = path_ / ".trial.tmp";
  const bool writable = write_and_sync(trial, "trial");
  const int reason = errno;
  std::filesystem::remove(trial, error);
  if (!writable) {
    fail<UsageError>("cannot write into '{}': {}", path_.string(), std::strerror(reason));
  }
}

std::vector<int> CheckpointFolder::epochs() const {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
    if (const auto epochs = epochs_in(entry.path().filename().string())) found.push_back(*epochs);
  }
  std::ranges::sort(found);
  return found;
}

void CheckpointFolder::write(int epochs, std::string_view bytes, int keep) const {
  const std::filesystem::path path = file_of(epochs);
  const std::filesystem::path temporary = path.string() + ".tmp";
  if (!write_and_sync(temporary, bytes) || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    fail("cannot write '{}': {}", path.string(), std::strerror(reason));
  }
  const Descriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some network file systems cannot sync a folder; the rename has happened all the same.
  if (folder.get() >= 0) ::fsync(folder.get());
  // What comes after this one is of a training that went on from a later, damaged file.
  std::vector<int> old = this->epochs();
  std::erase_if(old, [&](int other) { return other > epochs; });
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < old.size(); ++i) {
    ::unlink(file_of(old[i]).c_str());
  }
}

FoundCheckpoint CheckpointFolder::newest() const {
  const std::vector<int> all = epochs();
  if (all.empty()) fail<UsageError>("'{}' holds no checkpoint {}*{}", path_.string(), kStart, kEnd);
  FoundCheckpoint found;
  for (auto epochs = all.rbegin(); epochs != all.rend(); ++epochs) {
    found.path = file_of(*epochs);
    try {
      found.bytes = bytes_in(found.path);
      checkpoint_from(found.bytes);
      return found;
    } catch (const UsageError& error) {
      found.refused.push_back(fmt::format("{}: {}", found.path.string(), error.what()));
    }
  }
  fail<UsageError>("no checkpoint is whole: {}", fmt::join(found.refused, "; "));
}

}  // namespace scalebench
