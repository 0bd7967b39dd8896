// SPDX-License-Identifier: Apache-2.0
// A run as its folder holds it: manifest, and what each launch wrote. What verify, compare and the
// nightly gate read; nothing is computed here.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"
#include "bench/study/collect.hpp"

namespace scalebench {

/// A folder below RUN/launches.
struct LaunchFolder {
  int number = 0;
  std::string name;  // "allreduce-n2"
  int attempt = 1;   // which start of the launch; only the one in the manifest counts
  std::filesystem::path path;
};

struct StoredRun {
  std::filesystem::path folder;
  Manifest manifest;
  /// By case file ("allreduce.csv"), in order of launches. Samples are there only when asked for.
  std::map<std::string, std::vector<LaunchRows>, std::less<>> launches;

  /// Rows of all launches that stand beside their case file: bound.csv, allreduce_ranks.csv.
  std::map<std::string, std::vector<ResultRow>, std::less<>> beside{};
  std::map<int, LaunchFolder> folders{};  // of the launches, by number

  const std::vector<LaunchRows>& launches_of(const Schema& schema) const;
  const std::vector<ResultRow>& beside_of(const Schema& schema) const;
};

/// All of them, by number and attempt. Throws UsageError for a folder that is none.
std::vector<LaunchFolder> launch_folders(const std::filesystem::path& run);

enum class WithSamples { no, yes };

/// Reads `folder`: of a study, or of one benchmark with --out (which counts as one launch).
/// Launches that have not ended and attempts that were superseded are left out. Throws UsageError
/// `file: what` when it is no run, is damaged, or of a later schema version.
StoredRun read_stored_run(const std::filesystem::path& folder, WithSamples samples);

/// The case files that a run can hold, and what can stand beside one.
const std::vector<const Schema*>& case_schemas();
const std::vector<const Schema*>& beside_schemas();

}  // namespace scalebench
