// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/managed_job.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/machine/host_files.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kChannel = "SM_CHANNEL_";
constexpr std::array<std::string_view, 5> kNames{"SM_HOSTS", "SM_CURRENT_HOST", "SM_NUM_GPUS",
                                                 "SM_OUTPUT_DATA_DIR", "SM_MODEL_DIR"};

std::optional<JobValue> value_of(const JobVariables& variables, std::string_view name) {
  const auto found = variables.find(name);
  if (found == variables.end()) return std::nullopt;
  return JobValue{found->second, found->first};
}

std::optional<JobValue> training_channel(const JobVariables& variables) {
  for (const std::string_view name : {"SM_CHANNEL_TRAINING", "SM_CHANNEL_TRAIN"}) {
    if (auto value = value_of(variables, name)) return value;
  }
  std::optional<JobValue> only;
  for (const auto& [name, folder] : variables) {
    if (!name.starts_with(kChannel)) continue;
    if (only) return std::nullopt;  // which of them is for training is not ours to guess
    only = JobValue{folder, name};
  }
  return only;
}

/// Names end up in mpirun's list, where commas and colons separate.
bool is_host_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  return !name.empty() && name.front() != '-' &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::vector<std::string> hosts_in(const std::string& text) {
  constexpr std::string_view kValid = R"(valid: a JSON list of host names, as ["algo-1","algo-2"])";
  const auto refuse = [&](std::string_view why) {
    fail<UsageError>("SM_HOSTS: '{}' {}; {}", text, why, kValid);
  };
  const nlohmann::json list = parse_json(text, "SM_HOSTS", kValid);
  if (!list.is_array() || list.empty()) refuse("is not a list with entries");
  std::vector<std::string> hosts;
  for (const nlohmann::json& host : list) {
    if (!host.is_string() || !is_host_name(host.get<std::string>()))
      refuse("has an entry that is no host name");
    hosts.push_back(host.get<std::string>());
  }
  std::ranges::sort(hosts);
  if (std::ranges::adjacent_find(hosts) != hosts.end()) refuse("names a host twice");
  return hosts;
}

int gpus_in(const std::string& text) {
  const auto gpus = read_number<int>(text);
  if (gpus && *gpus >= 0) return *gpus;
  fail<UsageError>("SM_NUM_GPUS: '{}' is not a number of GPUs; valid: 0, 1, 2 ...", text);
}

void read_hosts(const JobVariables& variables, ManagedJob& job) {
  if (const auto current = value_of(variables, "SM_CURRENT_HOST"))
    job.current_host = current->value;
  const auto hosts = value_of(variables, "SM_HOSTS");
  if (!hosts) return;
  job.hosts = hosts_in(hosts->value);
  const bool known = std::ranges::binary_search(job.hosts, job.current_host);
  if (job.hosts.size() > 1 && !known) {
    fail<UsageError>("SM_CURRENT_HOST: '{}' is none of SM_HOSTS ({})", job.current_host,
                     fmt::join(job.hosts, ", "));
  }
}

/// Of a process' folder in /proc: ticks from boot to its start.
std::optional<double> start_ticks(const std::filesystem::path& process) {
  constexpr std::size_t kStart = 22 - 3;
  const std::vector<std::string> fields = fields_behind_name(process);
  return fields.size() > kStart ? read_number<double>(fields[kStart]) : std::nullopt;
}

}  // namespace

JobVariables job_variables(const char* const* environment) {
  JobVariables variables;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    const std::string_view name = entry.substr(0, equals);
    const bool ours = name.starts_with(kChannel) || std::ranges::find(kNames, name) != kNames.end();
    if (!ours || equals == std::string_view::npos || equals + 1 == entry.size()) continue;
    variables.emplace(name, entry.substr(equals + 1));
  }
  return variables;
}

ManagedJob job_folders(const JobVariables& variables) {
  ManagedJob job;
  job.data = training_channel(variables);
  job.results = value_of(variables, "SM_OUTPUT_DATA_DIR");
  job.model = value_of(variables, "SM_MODEL_DIR");
  return job;
}

std::optional<ManagedJob> managed_job(const JobVariables& variables) {
  const auto is_sign = [](const auto& entry) { return entry.first != "SM_NUM_GPUS"; };
  if (std::ranges::none_of(variables, is_sign)) return std::nullopt;
  ManagedJob job = job_folders(variables);
  read_hosts(variables, job);
  if (const auto gpus = value_of(variables, "SM_NUM_GPUS")) job.gpus = gpus_in(gpus->value);
  return job;
}

std::string host_list(const ManagedJob& job, int slots) {
  std::vector<std::string> entries;
  for (const std::string& host : job.hosts) entries.push_back(fmt::format("{}:{}", host, slots));
  return fmt::format("{}", fmt::join(entries, ","));
}

std::string describe(const ManagedJob& job) {
  std::vector<std::string> parts;
  if (!job.hosts.empty()) {
    parts.push_back(fmt::format("{} host(s), this is {} (SM_HOSTS, SM_CURRENT_HOST)",
                                job.hosts.size(),
                                job.current_host.empty() ? "unnamed" : job.current_host));
  }
  if (job.gpus) parts.push_back(fmt::format("{} GPU(s) a host (SM_NUM_GPUS)", *job.gpus));
  const auto add = [&](std::string_view what, const std::optional<JobValue>& one) {
    if (one) parts.push_back(fmt::format("{} {} ({})", what, one->value, one->variable));
  };
  add("data", job.data);
  add("results", job.results);
  add("checkpoints", job.model);
  return fmt::format("managed job: {}", fmt::join(parts, "; "));
}

std::string describe_used(ManagedJob job, std::string_view dataset, std::string_view checkpoints) {
  job.results.reset();
  if (job.data && job.data->value != dataset) job.data.reset();
  if (job.model && job.model->value != checkpoints) job.model.reset();
  return job.data || job.model ? describe(job) : "";
}

std::optional<double> container_seconds(const std::filesystem::path& root) {
  const std::optional<double> ticks = start_ticks(root / "proc/1");
  double uptime = 0;
  if (!ticks || !(std::ifstream(root / "proc/uptime") >> uptime)) return std::nullopt;
  const double seconds = uptime - *ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  return seconds < 0 ? std::nullopt : std::optional(seconds);
}

nlohmann::json json_of(const ManagedJob& job) {
  nlohmann::json defaults = nlohmann::json::object();
  const auto add = [&](const char* what, const std::optional<JobValue>& one) {
    if (one) defaults[what] = {{"value", one->value}, {"variable", one->variable}};
  };
  add("data", job.data);
  add("results", job.results);
  add("model", job.model);
  nlohmann::json json{{"hosts", job.hosts}, {"defaults", std::move(defaults)}};
  json["current_host"] =
      job.current_host.empty() ? nlohmann::json() : nlohmann::json(job.current_host);
  json["gpus_per_host"] = job.gpus ? nlohmann::json(*job.gpus) : nlohmann::json();
  return json;
}

}  // namespace scalebench
