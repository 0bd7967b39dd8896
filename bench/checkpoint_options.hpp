// SPDX-License-Identifier: Apache-2.0
// Where checkpoints go and where a training goes on from.
#pragma once

#include <string>
#include <string_view>

#include "bench/cli/app.hpp"
#include "bench/record/managed_job.hpp"

namespace scalebench {

struct CheckpointOptions {
  std::string folder;  // empty: none are written
  int every = 1;       // epochs; the last one always has a checkpoint
  int keep = 2;        // newest files that stay
  std::string resume;  // folder; empty: begins anew
};

void add_checkpoint_options(CLI::App& app, CheckpointOptions& options);

/// Inside a managed job, a program that no study started keeps its checkpoints in the job's model
/// folder unless --checkpoint says another; trainings without a common model keep none.
void apply_job_default(CheckpointOptions& options, const ManagedJob& job, bool started_by_study,
                       std::string_view gradient_sync, int ranks);

/// Throws UsageError for numbers that make no sense and for trainings without a common model.
void check_checkpoint_options(const CheckpointOptions& options, std::string_view gradient_sync,
                              int ranks);

}  // namespace scalebench
