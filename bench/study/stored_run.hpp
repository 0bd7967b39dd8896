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

struct StoredRun {
  std::filesystem::path folder;
  Manifest manifest;
  /// By case file ("allreduce.csv"), in order of launches. Samples are there only when asked for.
  std::map<std::string, std::vector<LaunchRows>, std::less<>> launches;

  const std::vector<LaunchRows>& launches_of(const Schema& schema) const;
};

enum class WithSamples { no, yes };

/// Reads `folder`: of a study, or of one benchmark with --out (which counts as one launch). Throws
/// UsageError `file: what` when it is no run, is damaged, or of a later schema version.
StoredRun read_stored_run(const std::filesystem::path& folder, WithSamples samples);

/// The case files that a run can hold.
const std::vector<const Schema*>& case_schemas();

}  // namespace scalebench
