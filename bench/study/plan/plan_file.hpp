// SPDX-License-Identifier: Apache-2.0
// plan.json: every planned launch of a run and how launches are started, written before the first
// of them, so that an unfinished run can be taken up again and a published row be traced to its
// launch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/launch/launcher.hpp"
#include "bench/study/plan/plan.hpp"

namespace scalebench {

inline constexpr const char* kPlanFile = "plan.json";

struct StoredPlan {
  std::vector<PlannedLaunch> launches;
  /// Without `programs` and `run_id`, which belong to who starts them and to the folder.
  LaunchSettings settings;
};

std::string plan_text(const StoredPlan& plan);

/// Reads `folder/plan.json`. Throws UsageError `file: what` when it is missing, malformed or of a
/// later schema version.
StoredPlan read_plan(const std::filesystem::path& folder);

/// The value that follows an option in a launch's arguments; empty: not there.
std::string argument_of(const PlannedLaunch& launch, std::string_view option);

}  // namespace scalebench
