// SPDX-License-Identifier: Apache-2.0
#include "bench/program/join/environments.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bench/launch/hosts.hpp"
#include "bench/machine/managed_job.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"
#include "kernels/read_number.hpp"

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
  const auto number = read_number<int>(text);
  if (!number || *number < lowest || *number > highest) {
    fail<UsageError>("{}: '{}'; {}", name, text, valid);
  }
  return *number;
}

namespace {

bool has(const EnvironmentVariables& variables, std::string_view name) {
  return variables.find(name) != variables.end();
}

/// The address and port to meet at as the user chose them with MASTER_ADDR and MASTER_PORT, and
/// `otherwise` for what he did not.
Endpoint chosen_meeting(const EnvironmentVariables& variables, const Endpoint& otherwise) {
  Endpoint meeting = otherwise;
  if (has(variables, "MASTER_ADDR")) meeting.address = variable(variables, "MASTER_ADDR");
  if (has(variables, "MASTER_PORT")) meeting.port = number_in(variables, "MASTER_PORT", 1, 65535);
  return meeting;
}

// RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT: what torchrun sets in
// each process, and operators that follow it, where a process without LOCAL_RANK has its host for
// itself. https://pytorch.org/docs/stable/elastic/run.html#environment-variables

constexpr int kMostRanks = 1 << 20;

std::optional<JoinPlan> torchrun_plan(const EnvironmentVariables& variables) {
  const auto is_set = [&](std::string_view name) { return has(variables, name); };
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
    plan.is_on_one_host = plan.slots == ranks;
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

// TF_CONFIG: {"cluster": {"chief": ["h1:2222"], "worker": [...], "ps": [...]}, "task": {"type":
// "worker", "index": 0}}. Ranks in this order: chief, workers, ps, so that parameter servers are
// the last ones, which is where `--gradient-sync ps_*` has its servers. An evaluator is no rank.
// https://www.tensorflow.org/guide/distributed_training#setting_up_the_tf_config_environment_variable

constexpr std::array<std::string_view, 4> kTypes{"chief", "master", "worker", "ps"};
constexpr const char* kValid =
    R"(valid: {"cluster": {"worker": ["h1:2222", "h2:2222"]}, "task": {"type": "worker", "index": 0}})";

struct Task {
  std::string type;
  std::size_t index = 0;
  Endpoint at;
};

[[noreturn]] void refuse_config(std::string_view where, std::string_view what) {
  fail<UsageError>("TF_CONFIG: {}: {}; {}", where, what, kValid);
}

std::vector<Task> tasks_of(const nlohmann::json& cluster) {
  for (const auto& [type, list] : cluster.items()) {
    const bool known = type == "evaluator" || std::ranges::find(kTypes, type) != kTypes.end();
    if (!known) {
      refuse_config("cluster",
                    fmt::format("unknown task type '{}': chief, worker, ps or evaluator", type));
    }
  }
  std::vector<Task> tasks;
  for (const std::string_view type : kTypes) {
    const auto list = cluster.find(type);
    if (list == cluster.end()) continue;
    const std::string where = fmt::format("cluster.{}", type);
    if (!list->is_array()) refuse_config(where, "is no list");
    for (const nlohmann::json& entry : *list) {
      const std::size_t index = static_cast<std::size_t>(&entry - &list->front());
      const std::string place = fmt::format("TF_CONFIG: {}[{}]", where, index);
      if (!entry.is_string()) fail<UsageError>("{}: is no text; valid: \"host:port\"", place);
      Task task{std::string(type), index, parse_endpoint(entry.get<std::string>(), place)};
      const auto same = std::ranges::find(tasks, task.at, &Task::at);
      if (same != tasks.end()) {
        fail<UsageError>("{}: {} is {} {}'s too; valid: a port of its own for each task", place,
                         describe(task.at), same->type, same->index);
      }
      tasks.push_back(std::move(task));
    }
  }
  return tasks;
}

/// The number of this process's task among `tasks`.
std::size_t own_task(const nlohmann::json& config, const std::vector<Task>& tasks) {
  const auto task = config.find("task");
  if (task == config.end() || !task->is_object()) refuse_config("task", "is missing");
  const auto type = task->find("type");
  if (type == task->end() || !type->is_string())
    refuse_config("task.type", "is missing or no text");
  const std::string name = type->get<std::string>();
  if (name == "evaluator") {
    fail<UsageError>(
        "TF_CONFIG: task.type: an evaluator takes no part in training; valid here: "
        "chief, worker, ps");
  }
  const auto count = static_cast<std::size_t>(std::ranges::count(tasks, name, &Task::type));
  if (count == 0) refuse_config("task.type", fmt::format("'{}' is not in the cluster", name));
  const auto index = task->find("index");
  // Some write it as text.
  const std::string text = index == task->end() ? "missing"
                           : index->is_string() ? index->get<std::string>()
                                                : index->dump();
  const auto own = std::ranges::find_if(tasks, [&](const Task& one) {
    return one.type == name && std::to_string(one.index) == text;
  });
  if (own == tasks.end()) {
    fail<UsageError>("TF_CONFIG: task.index: {} is outside cluster.{}; valid: 0 to {}", text, name,
                     count - 1);
  }
  return static_cast<std::size_t>(own - tasks.begin());
}

/// "ps tasks are ranks too: rank 3 is ps 0; ..."
std::string note_on_servers(const std::vector<Task>& tasks) {
  const auto servers = std::ranges::count(tasks, std::string("ps"), &Task::type);
  if (servers == 0) return "";
  return fmt::format(
      "TF_CONFIG: its {} ps task(s) are the last of {} ranks; servers only with --gradient-sync "
      "ps_sync or ps_async, and --servers {}",
      servers, tasks.size(), servers);
}

std::optional<JoinPlan> tf_config_plan(const EnvironmentVariables& variables) {
  const std::string text = variable(variables, "TF_CONFIG");
  if (text.empty()) return std::nullopt;
  const nlohmann::json config = parse_json(text, "TF_CONFIG", kValid);
  if (!config.is_object()) refuse_config("1:1", "is no object");
  const auto cluster = config.find("cluster");
  if (cluster == config.end() || cluster->empty()) return std::nullopt;  // TensorFlow alone too
  if (!cluster->is_object()) refuse_config("cluster", "is no object");
  const std::vector<Task> tasks = tasks_of(*cluster);
  if (tasks.empty()) refuse_config("cluster", "has no task that could be a rank");
  const std::size_t own = own_task(config, tasks);
  if (tasks.size() == 1) return std::nullopt;

  JoinPlan plan;
  plan.source = "TF_CONFIG";
  plan.process = static_cast<int>(own);
  plan.host = tasks[own].at.address;
  plan.meeting = tasks.front().at;
  plan.job = cluster->dump();
  plan.note = note_on_servers(tasks);
  const auto here = [&](const Task& task) { return task.at.address == plan.host; };
  plan.slots = static_cast<int>(std::ranges::count_if(tasks, here));
  plan.is_on_one_host = plan.slots == static_cast<int>(tasks.size());
  plan.is_agent = std::ranges::find_if(tasks, here) - tasks.begin() == static_cast<long>(own);
  for (const Task& task : tasks) {
    plan.processes.push_back(fmt::format("{} {} ({})", task.type, task.index, describe(task.at)));
  }
  return plan;
}

// SM_HOSTS, SM_CURRENT_HOST, SM_NUM_GPUS: one process in the container of each host, the first of
// which by name starts the ranks. MASTER_PORT changes the port.

constexpr int kPort = 7777;  // where the service's own starter of PyTorch meets

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

constexpr int kMostTasks = 1 << 20;
constexpr const char* kTasksVariable = "SLURM_STEP_TASKS_PER_NODE";
constexpr int kFirstPort = 23000, kPorts = 9000;  // below those that Linux hands out

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
  plan.is_on_one_host = hosts.size() == 1;
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

/// Each process of an MPI job has one of these.
constexpr std::array<std::string_view, 5> kMpiRanks{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                                    "PMI_ID", "PMI_FD"};

/// Launchers that start processes and leave it to them to meet. Each gives no plan where its
/// variables are not there or speak of one process, and throws UsageError where they contradict
/// themselves. The first that gives a plan decides.
constexpr std::array kEnvironments{&torchrun_plan, &tf_config_plan, &sagemaker_plan,
                                   &slurm_step_plan};

}  // namespace

bool is_mpi_rank(const EnvironmentVariables& variables) {
  return std::ranges::any_of(kMpiRanks,
                             [&](std::string_view name) { return has(variables, name); });
}

std::optional<JoinPlan> join_plan(const EnvironmentVariables& variables) {
  if (has(variables, kJoinedVariable) || is_mpi_rank(variables)) return std::nullopt;
  for (const auto plan_of : kEnvironments) {
    if (auto plan = plan_of(variables)) return plan;
  }
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

}  // namespace scalebench
