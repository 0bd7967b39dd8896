// SPDX-License-Identifier: Apache-2.0
// Descriptions of a cluster, one function for each source; tables at the end have their order.
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>

#include "bench/launch/hosts.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr int kMostRanks = 1 << 20;

std::string text_of(const EnvironmentVariables& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

/// `why`: where a limit comes from, as " (WORLD_SIZE is 4)"; may be empty.
int number_in(const EnvironmentVariables& variables, std::string_view name, int lowest, int highest,
              std::string_view why = {}) {
  const std::string text = text_of(variables, name);
  const std::string valid = fmt::format("valid: a number from {} to {}{}", lowest, highest, why);
  if (text.empty()) fail<UsageError>("{} is not set; {}", name, valid);
  const auto number = read_number<int>(text);
  if (!number || *number < lowest || *number > highest) {
    fail<UsageError>("{}: '{}'; {}", name, text, valid);
  }
  return *number;
}

/// What the variables of one platform say; empty: they say nothing, or speak of this process alone.
struct Described {
  ClusterDescription cluster;
  std::optional<ProcessPlace> place;
};

/// Hosts that take a rank at least.
Hosts with_slots(Hosts hosts) {
  for (Host& host : hosts) host.slots = std::max(host.slots, 1);
  return hosts;
}

// TF_CONFIG: {"cluster": {"chief": ["h1:2222"], "worker": [...], "ps": [...]}, "task": {"type":
// "worker", "index": 0}}. Each task is a rank, in this order: chief, workers, ps. An evaluator is
// none.
// https://www.tensorflow.org/guide/distributed_training#setting_up_the_tf_config_environment_variable

constexpr const char* kValidConfig =
    R"(valid: {"cluster": {"worker": ["h1:2222", "h2:2222"]}, "task": {"type": "worker", "index": 0}})";

struct Task {
  std::string type;
  std::size_t index = 0;
  Host at;  // its slots: the port
  std::string name() const { return fmt::format("{} {} ({})", type, index, host_words({at})); }
};

[[noreturn]] void refuse_config(std::string_view where, std::string_view what) {
  fail<UsageError>("TF_CONFIG: {}: {}; {}", where, what, kValidConfig);
}

std::vector<Task> tasks_of(const nlohmann::json& cluster) {
  std::map<std::string, std::vector<std::string>, std::less<>> lists;
  try {
    cluster.get_to(lists);
  } catch (const nlohmann::json::exception&) {
    refuse_config("cluster", "is not a list of addresses for each type of task");
  }
  lists.erase("evaluator");
  std::vector<Task> tasks;
  for (const char* const type : {"chief", "master", "worker", "ps"}) {
    for (std::size_t i = 0; i < lists[type].size(); ++i) {
      const std::string& address = lists[type][i];
      const std::string where = fmt::format("TF_CONFIG: cluster.{}[{}]", type, i);
      const Hosts at = parse_hosts(address, where);
      if (at.size() != 1 || at.front().slots == 0) {
        fail<UsageError>("{}: '{}' is no task's address; valid: \"host:port\"", where, address);
      }
      if (std::ranges::find(tasks, at.front(), &Task::at) != tasks.end()) {
        fail<UsageError>("{}: '{}' is another task's address, too", where, address);
      }
      tasks.push_back({type, i, at.front()});
    }
    lists.erase(type);
  }
  for (const auto& [type, list] : lists) {
    refuse_config("cluster", fmt::format("'{}' is no type of task", type));
  }
  if (tasks.empty()) refuse_config("cluster", "has no task that could be a rank");
  return tasks;
}

const nlohmann::json& member(const nlohmann::json& in, const char* name, std::string_view where) {
  const auto found = in.is_object() ? in.find(name) : in.end();
  if (!in.is_object() || found == in.end()) refuse_config(where, "is missing");
  return *found;
}

/// The name of this process's task.
std::string own_task(const nlohmann::json& task, const std::vector<Task>& tasks) {
  const std::string type = text_in(task, "type");
  if (type.empty()) refuse_config("task.type", "is missing");
  if (type == "evaluator") return "the evaluator";
  const nlohmann::json& number = member(task, "index", "task.index");
  const std::string index = number.is_string() ? number.get<std::string>() : number.dump();
  for (const Task& one : tasks) {
    if (type == one.type && index == std::to_string(one.index)) return one.name();
  }
  refuse_config("task", fmt::format("\"{}\" {} is not in the cluster", type, index));
}

Described tensorflow(const EnvironmentVariables& variables) {
  const std::string text = text_of(variables, "TF_CONFIG");
  if (text.empty()) return {};
  const nlohmann::json config = parse_json(text, "TF_CONFIG", kValidConfig);
  const std::vector<Task> tasks = tasks_of(member(config, "cluster", "cluster"));
  const std::string own = own_task(member(config, "task", "task"), tasks);
  const std::string first = tasks.front().name();
  Described found;
  if (tasks.size() > 1) {
    std::vector<std::string> names;
    for (const Task& task : tasks) names.push_back(task.at.name);
    const std::string words = fmt::format("{}", fmt::join(names, ","));
    found.cluster = {"TF_CONFIG", with_slots(parse_hosts(words, "TF_CONFIG"))};
  }
  if (tasks.size() > 1 || own != first) {
    found.place =
        ProcessPlace{.source = "TF_CONFIG", .own = own, .first = first, .is_first = own == first};
  }
  return found;
}

// SageMaker: SM_HOSTS, SM_CURRENT_HOST, SM_NUM_GPUS of this host, and in SM_RESOURCE_CONFIG which
// instances the hosts are, where they are several groups of them.
// https://github.com/aws/sagemaker-training-toolkit/blob/master/ENVIRONMENT_VARIABLES.md

constexpr const char* kValidHosts = R"(valid: a list of different hosts, as ["algo-1","algo-2"])";

std::vector<std::string> names_in(const nlohmann::json& list, std::string_view source) {
  std::vector<std::string> names;
  try {
    list.get_to(names);
  } catch (const nlohmann::json::exception&) {
    names.clear();
  }
  std::ranges::sort(names);
  bool valid = !names.empty() && std::ranges::adjacent_find(names) == names.end();
  for (const std::string& name : names) {
    const Hosts one = parse_hosts(name, source);
    valid = valid && one.size() == 1 && one.front() == Host{name, 0};
  }
  if (valid) return names;
  fail<UsageError>("{}: '{}'; {}", source, list.dump(), kValidHosts);
}

/// The hosts of the one group that has GPUs; empty: there are no groups to choose from.
std::vector<std::string> hosts_of_group(const EnvironmentVariables& variables) {
  const std::string text = text_of(variables, "SM_RESOURCE_CONFIG");
  if (text.empty()) return {};
  const nlohmann::json config = parse_json(text, "SM_RESOURCE_CONFIG");
  const nlohmann::json none;
  const nlohmann::json groups = config.is_object() ? config.value("instance_groups", none) : none;
  if (groups.size() < 2) return {};
  static const RE2 kWithGpus(R"(ml\.[pg]\d.*)");  // families: ml.p4d.24xlarge, ml.g5.xlarge
  std::vector<std::string> found, names;
  int with_gpus = 0;
  for (const nlohmann::json& group : groups) {
    const std::string type = text_in(group, "instance_type");
    names.push_back(fmt::format("{} ({})", text_in(group, "instance_group_name"), type));
    if (!RE2::FullMatch(type, kWithGpus)) continue;
    ++with_gpus;
    found = names_in(group.value("hosts", none), "SM_RESOURCE_CONFIG: hosts");
  }
  if (with_gpus == 1) return found;
  fail<UsageError>(
      "SM_RESOURCE_CONFIG: instance groups {}: {} of them have GPUs; valid: one, on which the "
      "ranks are started, or name the hosts with --hosts",
      fmt::join(names, ", "), with_gpus);
}

/// The first host by name starts the ranks.
Described sagemaker(const EnvironmentVariables& variables) {
  const std::string text = text_of(variables, "SM_HOSTS");
  if (text.empty()) return {};
  std::vector<std::string> hosts = names_in(parse_json(text, "SM_HOSTS", kValidHosts), "SM_HOSTS");
  if (hosts.size() == 1) return {};
  const std::string own = text_of(variables, "SM_CURRENT_HOST");
  if (!std::ranges::binary_search(hosts, own)) {
    fail<UsageError>("SM_CURRENT_HOST: '{}' is none of SM_HOSTS; valid: {}", own,
                     fmt::join(hosts, ", "));
  }
  if (const auto group = hosts_of_group(variables); !group.empty()) hosts = group;
  Described found;
  found.cluster = {"SM_HOSTS", {}, variables.contains("SM_NUM_GPUS")};
  const int gpus =
      found.cluster.slots_are_gpus ? number_in(variables, "SM_NUM_GPUS", 0, kMostSlots) : 0;
  for (const std::string& host : hosts) found.cluster.hosts.push_back({host, gpus});
  found.place = ProcessPlace{.source = "SM_HOSTS",
                             .own = own,
                             .first = hosts.front(),
                             .is_first = own == hosts.front(),
                             .must_stay = true};
  return found;
}

// RANK, WORLD_SIZE, LOCAL_WORLD_SIZE: of torchrun, and of Kubeflow's PyTorchJob, where a process
// without LOCAL_WORLD_SIZE has its pod for itself. They name no hosts but that of rank 0; within a
// job of SageMaker SM_HOSTS names them.
// https://pytorch.org/docs/stable/elastic/run.html#environment-variables

Described torchrun(const EnvironmentVariables& variables) {
  if (!variables.contains("WORLD_SIZE")) return {};
  const int ranks = number_in(variables, "WORLD_SIZE", 1, kMostSlots);
  if (ranks == 1) return {};
  const std::string of_ranks = fmt::format(" (WORLD_SIZE is {})", ranks);
  const int rank = number_in(variables, "RANK", 0, ranks - 1, of_ranks);
  const bool says_here = variables.contains("LOCAL_WORLD_SIZE");
  const int here = says_here ? number_in(variables, "LOCAL_WORLD_SIZE", 1, ranks, of_ranks) : 1;
  constexpr const char* kSource = "RANK, WORLD_SIZE";
  Described found;
  found.place = ProcessPlace{.source = kSource,
                             .own = fmt::format("rank {}", rank),
                             .first = "rank 0",
                             .is_first = rank == 0};
  if (here == ranks) {
    found.cluster = {kSource, {{"localhost", ranks}}};
    return found;
  }
  const Described job = sagemaker(variables);
  if (!job.place) {
    found.place->why_no_start = fmt::format(
        "{} of {} ranks are on this host, and no variable names the hosts of the others", here,
        ranks);
    return found;
  }
  found.place->own = job.place->own;
  found.place->first = job.place->first;
  found.place->must_stay = true;
  found.cluster = {"SM_HOSTS, WORLD_SIZE", job.cluster.hosts};
  const int hosts = static_cast<int>(found.cluster.hosts.size());
  if (hosts * here != ranks) {
    fail<UsageError>("WORLD_SIZE is {}, and SM_HOSTS names {} hosts of {} ranks each; valid: {}",
                     ranks, hosts, here, hosts * here);
  }
  for (Host& host : found.cluster.hosts) host.slots = here;
  return found;
}

// Slurm: the allocation, and the tasks of a step.

constexpr const char* kNodes = "SLURM_JOB_NODELIST";
constexpr const char* kTasks = "SLURM_TASKS_PER_NODE";

/// Tasks of one step see each other by Slurm's PMI alone, and hold what another step would need.
Described slurm_step(const EnvironmentVariables& variables) {
  if (!variables.contains("SLURM_STEP_NODELIST") || !variables.contains("SLURM_PROCID")) return {};
  const int tasks = number_in(variables, "SLURM_STEP_NUM_TASKS", 1, kMostRanks);
  if (tasks == 1) return {};
  const int task = number_in(variables, "SLURM_PROCID", 0, tasks - 1,
                             fmt::format(" (SLURM_STEP_NUM_TASKS is {})", tasks));
  Described found;
  found.place = ProcessPlace{
      .source = "SLURM_STEP_NODELIST",
      .own = fmt::format("task {}", task),
      .first = "task 0",
      .is_first = task == 0,
      .why_no_start = fmt::format("{} tasks of a step without PMI cannot be ranks", tasks)};
  return found;
}

Described slurm(const EnvironmentVariables& variables) {
  int all = 0;
  if (variables.contains("SLURM_NTASKS")) all = number_in(variables, "SLURM_NTASKS", 1, kMostRanks);
  if (!variables.contains(kNodes)) return {};
  ClusterDescription cluster{kNodes, parse_hosts(text_of(variables, kNodes), kNodes)};
  const int nodes = static_cast<int>(cluster.hosts.size());
  const std::string words = text_of(variables, kTasks);
  if (words.empty()) {
    for (Host& host : cluster.hosts) host.slots = all % nodes == 0 ? all / nodes : 0;
    return {cluster, {}};
  }
  const std::vector<int> slots = tasks_per_node(words, kTasks);
  if (slots.size() != cluster.hosts.size()) {
    fail<UsageError>("{} '{}' is for {} nodes, and {} names {}", kTasks, words, slots.size(),
                     kNodes, nodes);
  }
  if (const int sum = std::accumulate(slots.begin(), slots.end(), 0); sum < all) {
    fail<UsageError>("{} '{}' is {} tasks, and SLURM_NTASKS is {}; valid: at least as many", kTasks,
                     words, sum, all);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) cluster.hosts[i].slots = slots[i];
  return {cluster, {}};
}

// PBS and LSF.

Described pbs(const EnvironmentVariables& variables) {
  const std::string file = text_of(variables, "PBS_NODEFILE");
  if (file.empty()) return {};
  try {
    return {{"PBS_NODEFILE", with_slots(read_hostfile(file))}, {}};
  } catch (const UsageError& error) {
    fail<UsageError>("PBS_NODEFILE: {}", error.what());
  }
}

/// "hostA 4 hostB 8".
Described lsf(const EnvironmentVariables& variables) {
  constexpr const char* kHosts = "LSB_MCPU_HOSTS";
  std::istringstream words(text_of(variables, kHosts));
  std::string list, slots;
  for (std::string host; words >> host; slots.clear()) {
    words >> slots;
    list += fmt::format("{}{}:{}", list.empty() ? "" : ",", host, slots);
  }
  if (list.empty()) return {};
  return {{kHosts, parse_hosts(list, kHosts)}, {}};
}

/// A list, or the path of a hostfile: what is a file, or has a '/'.
Hosts said_hosts(const std::string& words, std::string_view source) {
  std::error_code ignored;
  const bool path =
      words.find('/') != std::string::npos || std::filesystem::is_regular_file(words, ignored);
  return path ? read_hostfile(words) : parse_hosts(words, source);
}

}  // namespace

bool is_mpi_rank(const EnvironmentVariables& variables) {
  constexpr std::array kRanks{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PMI_ID", "PMI_FD"};
  return std::ranges::any_of(kRanks, [&](const char* name) { return variables.contains(name); });
}

// The launcher nearest to a process decides on its place: torchrun may have been started by Slurm
// or in a job of SageMaker, and not the other way round.

std::optional<ProcessPlace> process_place(const EnvironmentVariables& variables) {
  if (is_mpi_rank(variables)) return std::nullopt;
  for (const auto source : {&torchrun, &tensorflow, &sagemaker, &slurm_step}) {
    if (auto found = source(variables); found.place) return found.place;
  }
  return std::nullopt;
}

std::string remedy_on(const EnvironmentVariables& variables) {
  if (variables.contains("SM_HOSTS")) {
    return "give the SageMaker estimator distribution={\"mpi\": {\"enabled\": True}}, which starts "
           "them";
  }
  if (variables.contains("KUBERNETES_SERVICE_HOST")) {
    return "on Kubernetes start them by an MPIJob, as configs/kubernetes/mpijob.yaml";
  }
  if (variables.contains("SLURM_JOB_ID")) {
    return "under Slurm start them by srun --mpi=pmix -N 2 --ntasks-per-node=4 PROGRAM, a study by "
           "scalebench run --mpirun srun in the batch script";
  }
  return "start them by mpirun -H h1:4,h2:4 PROGRAM, a study by scalebench run --hosts h1:4,h2:4";
}

namespace {

/// Without domains, which one description may leave out. None where there is an address: it may be
/// anybody's.
std::set<std::string> short_names(const Hosts& hosts) {
  std::set<std::string> names;
  for (const Host& host : hosts) {
    if (RE2::FullMatch(host.name, R"([\d.]+|\[.*)")) return {};
    names.insert(host.name.substr(0, host.name.find('.')));
  }
  return names;
}

/// Whether two descriptions name other hosts.
bool contradict(const Hosts& a, const Hosts& b) {
  const std::set<std::string> names_a = short_names(a), names_b = short_names(b);
  const bool known = !names_a.empty() && !names_b.empty();
  return a.size() != b.size() || (known && names_a != names_b);
}

}  // namespace

ClusterDescription described_cluster(const std::string& option, const std::string& config,
                                     const EnvironmentVariables& variables) {
  if (!option.empty()) return {"--hosts", said_hosts(option, "--hosts")};
  if (!config.empty()) return {"[study] hosts", said_hosts(config, "[study] hosts")};
  if (const auto place = process_place(variables); place && !place->why_no_start.empty()) {
    fail<UsageError>("{}: {}; {}", place->source, place->why_no_start, remedy_on(variables));
  }
  // torchrun has already divided what an allocation gave it: it goes before the allocation.
  ClusterDescription first = torchrun(variables).cluster;
  if (!first.source.empty()) return first;
  for (const auto source : {&slurm, &pbs, &lsf, &tensorflow, &sagemaker}) {
    ClusterDescription found = source(variables).cluster;
    if (first.source.empty()) {
      first = std::move(found);
    } else if (!found.source.empty() && contradict(first.hosts, found.hosts)) {
      fail<UsageError>(
          "{} names {}, and {} names {}: say with --hosts which are meant, or unset one",
          first.source, host_words(first.hosts), found.source, host_words(found.hosts));
    }
  }
  return first;
}

}  // namespace scalebench
