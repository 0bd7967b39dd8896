// SPDX-License-Identifier: Apache-2.0
#include "bench/machine/managed_job.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "bench/machine/host_files.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kChannel = "SM_CHANNEL_";

/// Empty: not set.
std::string value_of(const EnvironmentVariables& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

std::string training_channel(const EnvironmentVariables& variables) {
  for (const std::string_view name : {"SM_CHANNEL_TRAINING", "SM_CHANNEL_TRAIN"}) {
    if (std::string folder = value_of(variables, name); !folder.empty()) return folder;
  }
  std::string only;
  for (const auto& [name, folder] : variables) {
    if (!name.starts_with(kChannel)) continue;
    if (!only.empty()) return "";  // which of them is for training is not ours to guess
    only = folder;
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

std::map<std::string, std::string> JobFolders::named() const {
  std::map<std::string, std::string> all{
      {"data", data}, {"results", results}, {"checkpoints", checkpoints}};
  std::erase_if(all, [](const auto& one) { return one.second.empty(); });
  return all;
}

JobFolders job_folders(const EnvironmentVariables& variables) {
  return {.data = training_channel(variables),
          .results = value_of(variables, "SM_OUTPUT_DATA_DIR"),
          .checkpoints = value_of(variables, "SM_MODEL_DIR")};
}

bool in_managed_job(const EnvironmentVariables& variables) {
  return std::ranges::any_of(variables, [](const auto& one) {
    return one.first.starts_with(kChannel) || one.first == "SM_HOSTS" ||
           one.first == "SM_OUTPUT_DATA_DIR" || one.first == "SM_MODEL_DIR";
  });
}

std::string describe(const JobFolders& job) {
  std::string text;
  for (const auto& [what, folder] : job.named()) {
    text += fmt::format("{} {} {}", text.empty() ? "" : ";", what, folder);
  }
  return "managed job:" + (text.empty() ? " none of its folders is used" : text);
}

std::optional<double> container_seconds(const std::filesystem::path& root) {
  const std::optional<double> ticks = start_ticks(root / "proc/1");
  double uptime = 0;
  if (!ticks || !(std::ifstream(root / "proc/uptime") >> uptime)) return std::nullopt;
  const double seconds = uptime - *ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  return seconds < 0 ? std::nullopt : std::optional(seconds);
}

}  // namespace scalebench
