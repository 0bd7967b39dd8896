// SPDX-License-Identifier: Apache-2.0
#include "bench/record/run_name.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include "bench/record/manifest.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAccepted = "-accepted";
constexpr std::string_view kRerun = "-rerun";
constexpr std::string_view kCanary = "-canary";
constexpr std::string_view kAa = "-aa";

/// As completion types it.
fs::path without_slash(const fs::path& typed) {
  return typed.has_filename() || !typed.has_relative_path() ? typed : typed.parent_path();
}

bool is_run(const fs::path& folder) { return fs::exists(folder / "manifest.json"); }

}  // namespace

std::string accepted_name(const std::string& run_id) { return run_id + std::string(kAccepted); }
std::string rerun_name(const std::string& run_id) { return run_id + std::string(kRerun); }
std::string canary_name(const std::string& run_id) { return run_id + std::string(kCanary); }
std::string aa_study(const std::string& study) { return study + std::string(kAa); }

bool is_aa_run(const fs::path& run) {
  const std::string name = run.filename().string();
  // TIME-STUDY-aa-CHANCE, as is a run of somebody's study that is called so.
  if (!std::string_view(name).substr(0, name.rfind('-')).ends_with(kAa)) return false;
  try {
    const Manifest manifest = read_manifest(run);
    const auto has_side = [](const LaunchRecord& launch) {
      return launch.name.ends_with("-a") || launch.name.ends_with("-b");
    };
    return std::ranges::count(manifest.command, "nightly") > 0 &&
           std::ranges::all_of(manifest.launches, has_side);
  } catch (const UsageError&) {
    return true;
  }
}

bool is_side_run(const fs::path& run) {
  const std::string name = run.filename().string();
  const auto ends = [&](std::string_view word) { return name.ends_with(word); };
  return std::ranges::any_of(std::array{kAccepted, kRerun, kCanary}, ends) || is_aa_run(run);
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

fs::path run_in(const fs::path& results, const std::string& typed) {
  if (without_slash(typed) == kLatest) return run_meant(results / kLatest);
  const fs::path path = run_meant(typed);
  for (const fs::path& folder : {path, results / path}) {
    if (is_run(folder)) return folder;
  }
  fail<UsageError>("{}: no such run, and none in {}", typed, results.string());
}

std::string name_in(const fs::path& results, const std::string& typed) {
  const bool latest = without_slash(typed) == kLatest;
  const fs::path path = latest ? run_meant(results / kLatest) : run_meant(typed);
  std::error_code elsewhere;
  if (path.has_parent_path() && !fs::equivalent(path.parent_path(), results, elsewhere)) {
    fail<UsageError>("{}: a run in {} is meant, by its name; --results names another folder", typed,
                     results.string());
  }
  const std::string name = path.filename().string();
  if (name.starts_with('.') || !fs::is_directory(results / name)) {
    fail<UsageError>("{}: no such run in {}", typed, results.string());
  }
  return name;
}

}  // namespace scalebench
