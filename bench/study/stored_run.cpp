// SPDX-License-Identifier: Apache-2.0
#include "bench/study/stored_run.hpp"

#include <charconv>
#include <utility>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

/// The launch folders in order; the run's own folder as launch 0 when it has none.
std::vector<std::pair<int, fs::path>> launch_folders(const fs::path& run) {
  std::map<int, fs::path> folders;
  if (!fs::exists(run / "launches")) return {{0, run}};
  for (const fs::directory_entry& entry : fs::directory_iterator(run / "launches")) {
    const std::string name = entry.path().filename().string();
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || *end != '-' || !entry.is_directory()) {
      fail<UsageError>("{}: no folder of a launch", entry.path().string());
    }
    folders.emplace(number, entry.path());
  }
  return {folders.begin(), folders.end()};
}

/// The rows of the run's samples.csv, by launch.
std::map<int, std::vector<ResultRow>> samples_in(const fs::path& run) {
  std::map<int, std::vector<ResultRow>> by_launch;
  for (ResultRow& row : rows_in(run, samples_schema())) {
    by_launch[static_cast<int>(number_in(row, "launch"))].push_back(std::move(row));
  }
  return by_launch;
}

}  // namespace

const std::vector<LaunchRows>& StoredRun::launches_of(const Schema& schema) const {
  static const std::vector<LaunchRows> kNone;
  const auto found = launches.find(schema.file);
  return found == launches.end() ? kNone : found->second;
}

const std::vector<const Schema*>& case_schemas() {
  static const std::vector<const Schema*> schemas{&allreduce_schema(), &throughput_schema(),
                                                  &epoch_schema(), &kernels_schema()};
  return schemas;
}

StoredRun read_stored_run(const fs::path& folder, WithSamples samples) {
  StoredRun run{folder, read_manifest(folder), {}};
  std::map<int, std::vector<ResultRow>> of_launch;
  if (samples == WithSamples::yes) of_launch = samples_in(folder);
  for (const auto& [number, path] : launch_folders(folder)) {
    for (const Schema* const schema : case_schemas()) {
      LaunchRows rows{number, rows_in(path, *schema), {}};
      if (rows.cases.empty()) continue;
      rows.samples = std::move(of_launch[number]);
      run.launches[std::string(schema->file)].push_back(std::move(rows));
    }
  }
  return run;
}

}  // namespace scalebench
