// SPDX-License-Identifier: Apache-2.0
#include "bench/study/replay_model.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kPrefix = "replay:";

}  // namespace

bool is_replay(std::string_view model) { return model.starts_with(kPrefix); }

std::string label_in_rows(const std::string& model) {
  if (!is_replay(model)) return model;
  const std::filesystem::path file = model.substr(kPrefix.size());
  return std::string(kPrefix) + file.stem().string();
}

std::optional<std::string> found_replay(const std::string& model,
                                        const std::filesystem::path& folder) {
  const std::filesystem::path file = model.substr(kPrefix.size());
  for (const std::filesystem::path& candidate : {file, folder / file}) {
    std::error_code none;
    if (std::filesystem::is_regular_file(candidate, none)) {
      return std::string(kPrefix) + candidate.string();
    }
  }
  return std::nullopt;
}

}  // namespace scalebench
