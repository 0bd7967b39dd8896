// SPDX-License-Identifier: Apache-2.0
// A folder of checkpoints, epoch-000012.ckpt: written so that a crash or a power cut leaves whole
// files only, the newest few kept, and the newest good one found among damaged ones. Only rank 0
// touches it. Free of LibTorch.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/machine/managed_job.hpp"
#include "bench/program/program.hpp"
#include "models/trainer.hpp"

namespace scalebench {

/// The newest checkpoint that is whole, and what was passed over on the way to it.
struct FoundCheckpoint {
  std::filesystem::path path;
  std::string bytes;
  /// One line a file: path and reason.
  std::vector<std::string> refused;
};

class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path path) : path_(std::move(path)) {}

  /// Makes the folder if it is not there and proves that files can be written. Throws UsageError
  /// (path and reason).
  void prepare() const;

  /// Epochs of which there are files, whole or not, ascending.
  std::vector<int> epochs() const;

  /// Writes the checkpoint after `epochs` epochs: temporary file, fsync, rename, fsync of the
  /// folder. Of the files up to this one the newest `keep` stay. Throws Error (path and reason),
  /// DiskFull when it is that; earlier checkpoints are then untouched.
  void write(int epochs, std::string_view bytes, int keep) const;

  /// Throws UsageError when there is no checkpoint or none is whole.
  FoundCheckpoint newest() const;

 private:
  std::filesystem::path file_of(int epochs) const;
  std::filesystem::path path_;
};

// Where checkpoints go and where a training goes on from.

struct CheckpointOptions {
  std::string folder;  // empty: none are written
  int every = 1;       // epochs; the last one always has a checkpoint
  int keep = 2;        // newest files that stay
  std::string resume;  // folder; empty: begins anew
};

void add_checkpoint_options(CLI::App& app, CheckpointOptions& options);

/// Inside a managed job, a program that no study started keeps its checkpoints in the job's model
/// folder unless --checkpoint says another; trainings without a common model keep none.
void apply_job_default(CheckpointOptions& options, const JobFolders& job, bool started_by_study,
                       std::string_view gradient_sync, int ranks);

/// Throws UsageError for numbers that make no sense and for trainings without a common model.
void check_checkpoint_options(const CheckpointOptions& options, std::string_view gradient_sync,
                              int ranks);

// The checkpoints of one training: when one is due, and rank 0's file and warnings for all ranks.

class Checkpointing {
 public:
  /// Collective: makes the folder before anything is trained. Throws UsageError on all ranks when
  /// it cannot be written, or holds checkpoints of a training that is not resumed from there.
  Checkpointing(const Ranks& ranks, const CheckpointOptions& options);

  /// Collective: puts `trainer` where the newest whole checkpoint was, when asked to. Warns of
  /// damaged ones. Throws UsageError when there is none, or it is of another training.
  TrainingProgress resume(Trainer& trainer) const;

  /// Collective, after an epoch: writes a checkpoint where one is due. Throws Error on all ranks
  /// when it cannot.
  void after_epoch(Trainer& trainer, int epochs, double seconds_so_far, bool last) const;

 private:
  const Ranks& ranks_;
  const CheckpointOptions& options_;
  CheckpointFolder folder_;
};

}  // namespace scalebench
