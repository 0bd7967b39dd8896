// SPDX-License-Identifier: Apache-2.0
#include "bench/join/join_plan.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace scalebench {
namespace {

/// Each process of an MPI job has one of these.
constexpr std::array<std::string_view, 5> kMpiRanks{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                                    "PMI_ID", "PMI_FD"};

bool has(const EnvironmentVariables& variables, std::string_view name) {
  return variables.find(name) != variables.end();
}

}  // namespace

std::optional<JoinPlan> join_plan(const EnvironmentVariables& variables) {
  const auto is_set = [&](std::string_view name) { return has(variables, name); };
  if (is_set(kJoinedVariable) || std::ranges::any_of(kMpiRanks, is_set)) return std::nullopt;
#define JOIN_ENVIRONMENT(name, known_by) \
  if (auto plan = name##_plan(variables)) return plan;
#include "bench/join/environments.def"
#undef JOIN_ENVIRONMENT
  return std::nullopt;
}

std::vector<std::string> misleading_variables(const EnvironmentVariables& variables) {
  constexpr std::array<std::string_view, 11> kNames{
      "RANK",       "WORLD_SIZE",      "LOCAL_RANK",  "LOCAL_WORLD_SIZE",
      "GROUP_RANK", "MASTER_ADDR",     "MASTER_PORT", "GROUP_WORLD_SIZE",
      "ROLE_RANK",  "ROLE_WORLD_SIZE", "TF_CONFIG"};
  // Inside a step of Slurm mpirun would start its daemons by srun.
  constexpr std::array<std::string_view, 3> kPrefixes{"TORCHELASTIC_", "SLURM_", "SRUN_"};
  std::vector<std::string> names;
  for (const auto& [name, value] : variables) {
    const auto begins = [&name = name](std::string_view prefix) {
      return name.starts_with(prefix);
    };
    if (std::ranges::find(kNames, name) != kNames.end() || std::ranges::any_of(kPrefixes, begins)) {
      names.push_back(name);
    }
  }
  return names;
}

Endpoint chosen_meeting(const EnvironmentVariables& variables, const Endpoint& otherwise) {
  Endpoint meeting = otherwise;
  if (has(variables, "MASTER_ADDR")) meeting.address = variable(variables, "MASTER_ADDR");
  if (has(variables, "MASTER_PORT")) meeting.port = number_in(variables, "MASTER_PORT", 1, 65535);
  return meeting;
}

}  // namespace scalebench
