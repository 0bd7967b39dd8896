// SPDX-License-Identifier: Apache-2.0
// A training job that a service started in containers (SageMaker's variables): what it says about
// folders. Its word is a default: what the user says himself goes before it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "bench/machine/environment_variables.hpp"

namespace scalebench {

/// Empty: the job names none.
struct JobFolders {
  std::string data;     // of the training images
  std::string results;  // where runs go
  std::string checkpoints;

  /// Those that are not empty, by their names here.
  std::map<std::string, std::string> named() const;
};

/// By SM_CHANNEL_*, SM_OUTPUT_DATA_DIR, SM_MODEL_DIR. The data: channel `training`, else `train`,
/// else the only one there is.
JobFolders job_folders(const EnvironmentVariables& variables);

/// Whether hosts or folders of a job are named.
bool in_managed_job(const EnvironmentVariables& variables);

/// For people, one line: "managed job: results /opt/ml/output/data".
std::string describe(const JobFolders& job);

/// Seconds since process 1 began, which in a container is the container. `root`: / but in tests.
std::optional<double> container_seconds(const std::filesystem::path& root = "/");

}  // namespace scalebench
