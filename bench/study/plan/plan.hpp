// SPDX-License-Identifier: Apache-2.0
// A study spelled out: every start of a program, in the order in which they happen. Pure data: what
// --dry-run prints is what runs, and plan.json keeps it, written before the first launch, so that
// an unfinished run can be taken up again and a published row be traced to its launch.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/launch/launcher.hpp"
#include "bench/study/plan/config.hpp"

namespace scalebench {

/// What a study may use.
struct PlanLimits {
  int devices = 1;             // cores, or GPUs where those are used; of all hosts
  bool oversubscribe = false;  // more ranks than devices are allowed
  Hosts hosts{};               // with slots; empty: this one
  bool looks_here = false;     // GPUs and data sets are those of this host
  std::string why_no_gpu{};    // empty: it has some

  /// The hosts, of which this one alone is a list of one.
  Hosts all_hosts() const { return hosts.empty() ? Hosts{{"localhost", devices}} : hosts; }
};

/// All launches: round after round, each round holding every program and layout once, shuffled by
/// the seed; those that are compared with each other (the epochs of one [[epoch]]) stay together.
/// Layouts are the config's, else those of its numbers of ranks, else the default ones. An epoch
/// study adds its baselines on one rank: `one_device`, and `none` with plain_loop. Throws
/// UsageError when more ranks or hosts are asked for than there are.
std::vector<PlannedLaunch> plan_of(const StudyConfig& config, const PlanLimits& limits);

/// Of any of the launches; at least 1.
int most_ranks_of_a_host(const std::vector<PlannedLaunch>& plan);

/// Names in a plan that only a run can have: of the run, and of the folder of a launch.
inline constexpr const char* kPlannedRun = "RUN";
std::filesystem::path planned_folder(const PlannedLaunch& launch);

inline constexpr const char* kPlanFile = "plan.json";

/// Every planned launch of a run and how launches are started.
struct StoredPlan {
  std::vector<PlannedLaunch> launches;
  /// Without `programs` and `run_id`, which belong to who starts them and to the folder.
  LaunchSettings settings;
};

std::string plan_text(const StoredPlan& plan);

/// Reads `folder/plan.json`. Throws UsageError `file: what` when it is missing, malformed or of a
/// later schema version.
StoredPlan read_plan(const std::filesystem::path& folder);

/// The value of an option in a command, behind it or its '='; empty: not there.
std::string argument_of(const std::vector<std::string>& words, std::string_view option);
inline std::string argument_of(const PlannedLaunch& launch, std::string_view option) {
  return argument_of(launch.arguments, option);
}

}  // namespace scalebench
