// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint_options.hpp"

#include <CLI/CLI.hpp>

#include "kernels/error.hpp"

namespace scalebench {

void add_checkpoint_options(CLI::App& app, CheckpointOptions& options) {
  app.add_option("--checkpoint", options.folder,
                 "folder for checkpoints, written by rank 0 outside the epoch's time")
      ->type_name("DIR");
  app.add_option("--checkpoint-every", options.every, "epochs between two checkpoints")
      ->capture_default_str();
  app.add_option("--keep", options.keep, "checkpoints that stay, the newest")
      ->capture_default_str();
  app.add_option("--resume", options.resume,
                 "go on from the newest whole checkpoint in this folder; --epochs counts from the "
                 "training's beginning")
      ->type_name("DIR");
}

void apply_job_default(CheckpointOptions& options, const ManagedJob& job, bool started_by_study,
                       std::string_view gradient_sync, int ranks) {
  const bool apart = gradient_sync == "none" && ranks > 1;
  if (options.folder.empty() && job.model && !started_by_study && !apart) {
    options.folder = job.model->value;
  }
}

void check_checkpoint_options(const CheckpointOptions& options, std::string_view gradient_sync,
                              int ranks) {
  if (options.every < 1) {
    fail<UsageError>("--checkpoint-every {}: expected at least 1 epoch", options.every);
  }
  if (options.keep < 1) fail<UsageError>("--keep {}: expected at least 1", options.keep);
  if (options.folder.empty() && options.resume.empty()) return;
  if (gradient_sync == "none" && ranks > 1) {
    fail<UsageError>(
        "--checkpoint and --resume: gradient sync none trains a model of its own on each of {} "
        "ranks; use mirrored, or one rank",
        ranks);
  }
}

}  // namespace scalebench
