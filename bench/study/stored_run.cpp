// SPDX-License-Identifier: Apache-2.0
#include "bench/study/stored_run.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

/// "003-allreduce-n2", "003-allreduce-n2.attempt1"; nothing for another name.
std::optional<LaunchFolder> parsed(const fs::path& path) {
  LaunchFolder folder;
  folder.path = path;
  const std::string text = path.filename().string();
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, folder.number);
  if (error != std::errc() || end == last || *end != '-') return std::nullopt;
  folder.name.assign(end + 1, last);
  constexpr std::string_view kMark = ".attempt";
  const std::size_t mark = folder.name.rfind(kMark);
  if (mark == std::string::npos) return folder;
  const char* const digits = folder.name.data() + mark + kMark.size();
  const char* const name_end = folder.name.data() + folder.name.size();
  const auto [stop, bad] = std::from_chars(digits, name_end, folder.attempt);
  if (bad != std::errc() || stop != name_end) return std::nullopt;
  folder.name.resize(mark);
  return folder;
}

/// The folders of the launches that count; the run's own as launch 0 when it has none.
std::vector<LaunchFolder> counting_folders(const fs::path& run, const Manifest& manifest) {
  if (!fs::exists(run / "launches")) return {{0, "", 1, run}};
  std::vector<LaunchFolder> folders;
  // Runs of earlier versions have no inputs, and entered a launch only after its rows were kept.
  const bool says_which_ended = !manifest.inputs.empty();
  for (LaunchFolder& folder : launch_folders(run)) {
    const bool counts = std::ranges::any_of(manifest.launches, [&](const LaunchRecord& record) {
      return record.number == folder.number && record.attempt == folder.attempt;
    });
    if (counts || !says_which_ended) folders.push_back(std::move(folder));
  }
  return folders;
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

std::vector<LaunchFolder> launch_folders(const fs::path& run) {
  std::vector<LaunchFolder> folders;
  if (!fs::exists(run / "launches")) return folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / "launches")) {
    std::optional<LaunchFolder> folder = parsed(entry.path());
    if (!folder || entry.is_symlink() || !entry.is_directory()) {
      fail<UsageError>("{}: no folder of a launch", entry.path().string());
    }
    folders.push_back(std::move(*folder));
  }
  std::ranges::sort(folders, {}, [](const LaunchFolder& folder) {
    return std::pair(folder.number, folder.attempt);
  });
  return folders;
}

const std::vector<LaunchRows>& StoredRun::launches_of(const Schema& schema) const {
  static const std::vector<LaunchRows> kNone;
  const auto found = launches.find(schema.file);
  return found == launches.end() ? kNone : found->second;
}

const std::vector<ResultRow>& StoredRun::beside_of(const Schema& schema) const {
  static const std::vector<ResultRow> kNone;
  const auto found = beside.find(schema.file);
  return found == beside.end() ? kNone : found->second;
}

const std::vector<const Schema*>& beside_schemas() {
  static const std::vector<const Schema*> schemas{&bound_schema(), &allreduce_ranks_schema(),
                                                  &links_schema()};
  return schemas;
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
  for (const LaunchFolder& launch : counting_folders(folder, run.manifest)) {
    run.folders[launch.number] = launch;
    for (const Schema* const schema : case_schemas()) {
      LaunchRows rows{launch.number, rows_in(launch.path, *schema), {}};
      if (rows.cases.empty()) continue;
      rows.samples = std::move(of_launch[launch.number]);
      run.launches[std::string(schema->file)].push_back(std::move(rows));
    }
    for (const Schema* const schema : beside_schemas()) {
      std::vector<ResultRow> rows = rows_in(launch.path, *schema);
      std::vector<ResultRow>& all = run.beside[std::string(schema->file)];
      std::move(rows.begin(), rows.end(), std::back_inserter(all));
    }
  }
  return run;
}

}  // namespace scalebench
