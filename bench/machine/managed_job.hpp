// SPDX-License-Identifier: Apache-2.0
// A training job that a service started in containers (SageMaker's variables): what it says about
// hosts and folders. Its word is a default: what the user says himself goes before it.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

/// By name: SM_HOSTS SM_CURRENT_HOST SM_NUM_GPUS SM_OUTPUT_DATA_DIR SM_MODEL_DIR SM_CHANNEL_*.
using JobVariables = std::map<std::string, std::string, std::less<>>;

/// Those of `environment`, a null-terminated array of "NAME=value" as ::environ is; no other
/// variable is looked at, and empty ones count as not set.
JobVariables job_variables(const char* const* environment);

/// A default that the job gives, and the variable that said it.
struct JobValue {
  std::string value;
  std::string variable;
};

struct ManagedJob {
  // Sorted; the first one starts the ranks of all, as the service's own launcher has it.
  std::vector<std::string> hosts;  // empty: not said
  std::string current_host;
  std::optional<int> gpus;  // of each host

  std::optional<JobValue> data;     // folder of the training images
  std::optional<JobValue> results;  // where runs go
  std::optional<JobValue> model;    // folder for checkpoints
};

/// The folders alone, none of which can be wrong by itself. The data: channel `training`, else
/// `train`, else the only one there is.
ManagedJob job_folders(const JobVariables& variables);

/// Empty when no variable but SM_NUM_GPUS is set: not inside a job. Throws UsageError in one line
/// that names the variable when one cannot be understood.
std::optional<ManagedJob> managed_job(const JobVariables& variables);

/// mpirun's "h1:4,h2:4": `slots` ranks on each host.
std::string host_list(const ManagedJob& job, int slots);

/// For people, one line: "managed job: 2 hosts (SM_HOSTS), results in /opt/...
/// (SM_OUTPUT_DATA_DIR)".
std::string describe(const ManagedJob& job);

/// The same of the folders that a training uses; empty when none of them is the job's.
std::string describe_used(ManagedJob job, std::string_view dataset, std::string_view checkpoints);

/// Seconds since process 1 began, which in a container is the container. `root`: / but in tests.
std::optional<double> container_seconds(const std::filesystem::path& root = "/");

/// The manifest's `job`.
nlohmann::json json_of(const ManagedJob& job);

}  // namespace scalebench
