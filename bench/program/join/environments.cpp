// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/environments.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "bench/launch/hosts.hpp"
#include "bench/machine/managed_job.hpp"
#include "kernels/error.hpp"

namespace scalebench {

EnvironmentVariables environment_variables(const char* const* environment) {
  EnvironmentVariables variables;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals + 1 == entry.size()) continue;
    variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

std::string variable(const EnvironmentVariables& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

int number_in(const EnvironmentVariables& variables, std::string_view name, int lowest, int highest,
              std::string_view why) {
  const std::string text = variable(variables, name);
  const std::string valid = fmt::format("valid: a number from {} to {}{}{}{}", lowest, highest,
                                        why.empty() ? "" : " (", why, why.empty() ? "" : ")");
  if (text.empty()) fail<UsageError>("{} is not set; {}", name, valid);
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < lowest || number > highest) {
    fail<UsageError>("{}: '{}'; {}", name, text, valid);
  }
  return number;
}

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
#include "bench/program/join/environments.def"
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

// SM_HOSTS, SM_CURRENT_HOST, SM_NUM_GPUS: one process in the container of each host, the first of
// which by name starts the ranks. MASTER_PORT changes the port.

namespace {

constexpr int kPort = 7777;  // where the service's own starter of PyTorch meets

}  // namespace

std::optional<JoinPlan> sagemaker_plan(const EnvironmentVariables& variables) {
  JobVariables said;
  for (const char* const name : {"SM_HOSTS", "SM_CURRENT_HOST", "SM_NUM_GPUS"}) {
    if (const auto found = variables.find(name); found != variables.end()) said.insert(*found);
  }
  const std::optional<ManagedJob> job = managed_job(said);
  if (!job || job->hosts.size() < 2) return std::nullopt;
  JoinPlan plan;
  plan.source = "SM_HOSTS";
  plan.processes = job->hosts;
  plan.process =
      static_cast<int>(std::ranges::find(job->hosts, job->current_host) - job->hosts.begin());
  plan.host = job->current_host;
  plan.slots = job->gpus.value_or(0);
  plan.meeting = chosen_meeting(variables, {job->hosts.front(), kPort});
  plan.job = fmt::format("{}", fmt::join(job->hosts, ","));
  return plan;
}

// A step of Slurm that was started without an MPI plugin (srun --mpi=none): SLURM_PROCID of
// SLURM_STEP_NUM_TASKS tasks on SLURM_STEP_NODELIST. A batch script or a shell in an allocation is
// one process and no such step. They meet on the first node, at a port made of job and step;
// MASTER_ADDR and MASTER_PORT change that.

namespace {

constexpr int kMostTasks = 1 << 20;
constexpr const char* kTasksVariable = "SLURM_STEP_TASKS_PER_NODE";
constexpr int kFirstPort = 23000, kPorts = 9000;  // below those that Linux hands out

}  // namespace

std::optional<JoinPlan> slurm_step_plan(const EnvironmentVariables& variables) {
  const std::string nodes = variable(variables, "SLURM_STEP_NODELIST");
  if (nodes.empty() || variable(variables, "SLURM_PROCID").empty()) return std::nullopt;
  const int tasks = number_in(variables, "SLURM_STEP_NUM_TASKS", 1, kMostTasks);
  if (tasks == 1) return std::nullopt;
  const Hosts hosts = expand_nodelist(nodes, "SLURM_STEP_NODELIST");
  const std::vector<int> each = tasks_per_node(variable(variables, kTasksVariable), kTasksVariable);
  if (each.size() != hosts.size()) {
    fail<UsageError>("{}: {} nodes, but SLURM_STEP_NODELIST has {}", kTasksVariable, each.size(),
                     hosts.size());
  }
  const auto node = static_cast<std::size_t>(
      number_in(variables, "SLURM_NODEID", 0, static_cast<int>(hosts.size()) - 1));
  JoinPlan plan;
  plan.source = "SLURM_STEP_NODELIST";
  plan.process = number_in(variables, "SLURM_PROCID", 0, tasks - 1);
  plan.host = hosts[node].name;
  plan.slots = each[node];
  plan.is_agent = number_in(variables, "SLURM_LOCALID", 0, plan.slots - 1) == 0;
  plan.is_confined = true;
  const int job = number_in(variables, "SLURM_JOB_ID", 0, 2147483647);
  const int step = number_in(variables, "SLURM_STEP_ID", 0, 2147483647);
  const int port = kFirstPort + static_cast<int>((job * 31LL + step * 8LL) % kPorts);
  const std::string first = hosts.size() == 1 ? "127.0.0.1" : hosts.front().name;
  plan.meeting = chosen_meeting(variables, {first, port});
  plan.job = fmt::format("{}.{} {}", job, step, nodes);
  for (int task = 0; task < tasks; ++task) plan.processes.push_back(fmt::format("task {}", task));
  return plan;
}

// RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT: what torchrun sets in
// each process, and operators that follow it, where a process without LOCAL_RANK has its host for
// itself. https://pytorch.org/docs/stable/elastic/run.html#environment-variables

namespace {

constexpr int kMostRanks = 1 << 20;

}  // namespace

std::optional<JoinPlan> torchrun_plan(const EnvironmentVariables& variables) {
  const auto is_set = [&](std::string_view name) {
    return variables.find(name) != variables.end();
  };
  // Each of the two alone may be anybody's.
  if (!is_set("RANK") || !is_set("WORLD_SIZE")) return std::nullopt;
  const int ranks = number_in(variables, "WORLD_SIZE", 1, kMostRanks);
  const int rank =
      number_in(variables, "RANK", 0, ranks - 1, fmt::format("WORLD_SIZE is {}", ranks));
  if (ranks == 1) return std::nullopt;
  JoinPlan plan;
  plan.source = "RANK, WORLD_SIZE";
  plan.process = rank;
  if (is_set("LOCAL_RANK") || is_set("LOCAL_WORLD_SIZE")) {
    plan.slots =
        number_in(variables, "LOCAL_WORLD_SIZE", 1, ranks, fmt::format("WORLD_SIZE is {}", ranks));
    const int local = number_in(variables, "LOCAL_RANK", 0, plan.slots - 1,
                                fmt::format("LOCAL_WORLD_SIZE is {}", plan.slots));
    if (local > rank) {
      fail<UsageError>(
          "LOCAL_RANK: '{}' is above RANK, which is {}: both count from 0, and RANK "
          "counts the ranks of all hosts",
          local, rank);
    }
    plan.is_agent = local == 0;
  }
  if (!is_set("MASTER_ADDR")) {
    fail<UsageError>(
        "MASTER_ADDR is not set, but RANK and WORLD_SIZE are; valid: the host of rank 0");
  }
  plan.meeting.address = variable(variables, "MASTER_ADDR");
  plan.meeting.port = number_in(variables, "MASTER_PORT", 1, 65535);
  plan.job = fmt::format("{} {} {} {}", describe(plan.meeting), ranks,
                         variable(variables, "TORCHELASTIC_RUN_ID"),
                         variable(variables, "TORCHELASTIC_RESTART_COUNT"));
  // There torchrun itself listens.
  const bool is_taken = variable(variables, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (is_taken && plan.meeting.port < 65535) ++plan.meeting.port;
  for (int one = 0; one < ranks; ++one) plan.processes.push_back(fmt::format("rank {}", one));
  return plan;
}

}  // namespace scalebench
