// SPDX-License-Identifier: Apache-2.0
// A step of Slurm that was started without an MPI plugin (srun --mpi=none): SLURM_PROCID of
// SLURM_STEP_NUM_TASKS tasks on SLURM_STEP_NODELIST. A batch script or a shell in an allocation is
// one process and no such step. They meet on the first node, at a port made of job and step;
// MASTER_ADDR and MASTER_PORT change that.
#include "bench/join/join_plan.hpp"
#include "bench/study/hosts.hpp"
#include "kernels/error.hpp"

namespace scalebench {
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

}  // namespace scalebench
