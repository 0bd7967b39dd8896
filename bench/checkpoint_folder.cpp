// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint_folder.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "bench/record/file.hpp"
#include "kernels/error.hpp"
#include "models/checkpoint.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kStart = "epoch-";
constexpr std::string_view kEnd = ".ckpt";

std::optional<int> epochs_in(const std::string& name) {
  if (!name.starts_with(kStart) || !name.ends_with(kEnd)) return {};
  const char* const first = name.data() + kStart.size();
  const char* const last = name.data() + name.size() - kEnd.size();
  int epochs = 0;
  const auto [end, error] = std::from_chars(first, last, epochs);
  return error == std::errc() && end == last ? std::optional(epochs) : std::nullopt;
}

}  // namespace

std::filesystem::path CheckpointFolder::file_of(int epochs) const {
  return path_ / fmt::format("{}{:06}{}", kStart, epochs, kEnd);
}

void CheckpointFolder::prepare() const {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) fail<UsageError>("cannot make the folder '{}': {}", path_.string(), error.message());
  const std::filesystem::path trial = path_ / ".trial";
  try {
    write_file_atomically(trial, "");
  } catch (const Error& reason) {
    throw UsageError(reason.what());
  }
  std::filesystem::remove(trial, error);
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
  write_file_atomically(file_of(epochs), bytes);
  // What comes after this one is of a training that went on from a later, damaged file.
  std::vector<int> old = this->epochs();
  std::erase_if(old, [&](int other) { return other > epochs; });
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < old.size(); ++i) {
    std::error_code ignored;
    std::filesystem::remove(file_of(old[i]), ignored);
  }
}

FoundCheckpoint CheckpointFolder::newest() const {
  const std::vector<int> all = epochs();
  if (all.empty()) fail<UsageError>("'{}' holds no checkpoint {}*{}", path_.string(), kStart, kEnd);
  FoundCheckpoint found;
  for (auto epochs = all.rbegin(); epochs != all.rend(); ++epochs) {
    found.path = file_of(*epochs);
    try {
      found.bytes = read_file(found.path);
      checkpoint_from(found.bytes);
      return found;
    } catch (const UsageError& error) {
      found.refused.push_back(fmt::format("{}: {}", found.path.string(), error.what()));
    }
  }
  fail<UsageError>("no checkpoint is whole: {}", fmt::join(found.refused, "; "));
}

}  // namespace scalebench
