// SPDX-License-Identifier: Apache-2.0
// A training job that a service started in containers (SageMaker's variables): what it says about
// folders. Its word is a default: what the user says himself goes before it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "bench/machine/environment_variables.hpp"

namespace scalebench {

/// A default that the job gives, and the variable that said it.
struct JobValue {
  std::string value;
  std::string variable;
};

struct ManagedJob {
  std::optional<JobValue> data;     // folder of the training images
  std::optional<JobValue> results;  // where runs go
  std::optional<JobValue> model;    // folder for checkpoints
};

/// By SM_CHANNEL_*, SM_OUTPUT_DATA_DIR, SM_MODEL_DIR. The data: channel `training`, else `train`,
/// else the only one there is.
ManagedJob job_folders(const EnvironmentVariables& variables);

/// Empty where neither hosts nor folders of a job are named: not inside one.
std::optional<ManagedJob> managed_job(const EnvironmentVariables& variables);

/// For people, one line: "managed job: results /opt/... (SM_OUTPUT_DATA_DIR)".
std::string describe(const ManagedJob& job);

/// The same of the folders that a training uses; empty when none of them is the job's.
std::string describe_used(ManagedJob job, std::string_view dataset, std::string_view checkpoints);

/// Seconds since process 1 began, which in a container is the container. `root`: / but in tests.
std::optional<double> container_seconds(const std::filesystem::path& root = "/");

/// The manifest's `job`.
nlohmann::json json_of(const ManagedJob& job);

}  // namespace scalebench
