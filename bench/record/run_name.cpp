// SPDX-License-Identifier: Apache-2.0
#include "bench/record/run_name.hpp"

#include <string_view>
#include <system_error>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAccepted = "-accepted";
constexpr std::string_view kRerun = "-rerun";

/// As completion types it.
fs::path without_slash(const fs::path& typed) {
  return typed.has_filename() || !typed.has_relative_path() ? typed : typed.parent_path();
}

bool is_run(const fs::path& folder) { return fs::exists(folder / "manifest.json"); }

}  // namespace

std::string accepted_name(const std::string& run_id) { return run_id + std::string(kAccepted); }
std::string rerun_name(const std::string& run_id) { return run_id + std::string(kRerun); }

bool is_side_run(const fs::path& run) {
  const std::string name = run.filename().string();
  return name.ends_with(kAccepted) || name.ends_with(kRerun);
}

fs::path run_meant(const fs::path& typed) {
  const fs::path path = without_slash(typed);
  if (path.filename() != kLatest || fs::exists(path)) return path;
  const fs::path results = path.has_parent_path() ? path.parent_path() : fs::path("results");
  fs::path newest;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(results, none)) {
    // A run's name begins with the time.
    const std::string name = entry.path().filename().string();
    const bool dated = name.size() > 16 && name[8] == 'T' && name[15] == 'Z';
    if (!dated || !is_run(entry.path()) || is_side_run(entry.path())) continue;
    if (newest.empty() || newest.filename() < entry.path().filename()) newest = entry.path();
  }
  if (newest.empty()) {
    fail<UsageError>("{}: there is no run in {}; scalebench run makes one", path.string(),
                     results.string());
  }
  return newest;
}

}  // namespace scalebench
