// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/managed_job.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/machine/host_files.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kChannel = "SM_CHANNEL_";

std::optional<JobValue> value_of(const EnvironmentVariables& variables, std::string_view name) {
  const auto found = variables.find(name);
  if (found == variables.end()) return std::nullopt;
  return JobValue{found->second, found->first};
}

std::optional<JobValue> training_channel(const EnvironmentVariables& variables) {
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

/// Of a process' folder in /proc: ticks from boot to its start.
std::optional<double> start_ticks(const std::filesystem::path& process) {
  constexpr std::size_t kStart = 22 - 3;
  const std::vector<std::string> fields = fields_behind_name(process);
  return fields.size() > kStart ? read_number<double>(fields[kStart]) : std::nullopt;
}

}  // namespace

ManagedJob job_folders(const EnvironmentVariables& variables) {
  ManagedJob job;
  job.data = training_channel(variables);
  job.results = value_of(variables, "SM_OUTPUT_DATA_DIR");
  job.model = value_of(variables, "SM_MODEL_DIR");
  return job;
}

std::optional<ManagedJob> managed_job(const EnvironmentVariables& variables) {
  const auto is_sign = [](const auto& one) {
    return one.first.starts_with(kChannel) || one.first == "SM_HOSTS" ||
           one.first == "SM_OUTPUT_DATA_DIR" || one.first == "SM_MODEL_DIR";
  };
  if (std::ranges::none_of(variables, is_sign)) return std::nullopt;
  return job_folders(variables);
}

std::string describe(const ManagedJob& job) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view what, const std::optional<JobValue>& one) {
    if (one) parts.push_back(fmt::format("{} {} ({})", what, one->value, one->variable));
  };
  add("data", job.data);
  add("results", job.results);
  add("checkpoints", job.model);
  if (parts.empty()) return "managed job: none of its folders is used";
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
  return {{"defaults", std::move(defaults)}};
}

}  // namespace scalebench
