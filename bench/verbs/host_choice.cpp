// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/host_choice.hpp"

#include <algorithm>
#include <cstdlib>

#include "bench/study/launcher.hpp"
#include "bench/verbs/job_setup.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr const char* kListVariable = "SCALEBENCH_HOSTS";
constexpr const char* kNodesVariable = "SLURM_JOB_NODELIST";
constexpr const char* kTasksVariable = "SLURM_TASKS_PER_NODE";

bool is_file(const std::string& words) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(words, ignored);
}

Hosts allocated_hosts(const HostVariables& variables) {
  Hosts hosts = expand_nodelist(variables.at(kNodesVariable), kNodesVariable);
  const auto tasks = variables.find(kTasksVariable);
  if (tasks == variables.end()) return hosts;
  const std::vector<int> slots = tasks_per_node(tasks->second, kTasksVariable);
  if (slots.size() != hosts.size()) {
    fail<UsageError>("{} '{}' is for {} nodes, and {} names {}", kTasksVariable, tasks->second,
                     slots.size(), kNodesVariable, hosts.size());
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i].slots = slots[i];
  return hosts;
}

Hosts hosts_of(const ManagedJob& job, const StudyConfig& config) {
  if (job.hosts.size() < 2) return {};
  return parse_hosts(host_list(job, slots_of(job, config)), "SM_HOSTS");
}

/// As said, slots perhaps not.
Hosts said_hosts(const StartOptions& options, const StudyConfig& config,
                 const HostVariables& variables) {
  if (!options.hosts.empty()) return listed_hosts(options.hosts, "--hosts");
  if (!config.hosts.empty()) return listed_hosts(config.hosts, "[study] hosts");
  if (names_hosts(config.mpirun_arguments)) return {};
  if (const auto list = variables.find(kListVariable); list != variables.end()) {
    return listed_hosts(list->second, kListVariable);
  }
  if (variables.contains(kNodesVariable)) return allocated_hosts(variables);
  return options.job ? hosts_of(*options.job, config) : Hosts();
}

}  // namespace

HostVariables host_variables() {
  HostVariables variables;
  for (const char* const name : {kListVariable, kNodesVariable, kTasksVariable}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') variables[name] = value;
  }
  return variables;
}

Hosts listed_hosts(const std::string& words, std::string_view source) {
  const bool path = is_file(words) || words.find('/') != std::string::npos;
  return path ? read_hostfile(words) : parse_hosts(words, source);
}

Hosts hosts_of(const StartOptions& options, const StudyConfig& config,
               const HostVariables& variables) {
  Hosts hosts = said_hosts(options, config, variables);
  if (!hosts.empty() && names_hosts(config.mpirun_arguments)) {
    fail<UsageError>(
        "mpirun_arguments name hosts, and so do --hosts or [study] hosts; leave one out");
  }
  const auto unsaid = [](const Host& host) { return host.slots == 0; };
  if (std::ranges::any_of(hosts, unsaid)) {
    // `devices` are those of all hosts together.
    const int all = static_cast<int>(hosts.size());
    const int each = config.devices > 0 ? std::max(1, static_cast<int>(config.devices) / all)
                                        : devices_of(config);
    for (Host& host : hosts) host.slots = unsaid(host) ? each : host.slots;
  }
  return hosts;
}

}  // namespace scalebench
