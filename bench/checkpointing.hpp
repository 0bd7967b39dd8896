// SPDX-License-Identifier: Apache-2.0
// The checkpoints of one training: when one is due, and rank 0's file and warnings for all ranks.
#pragma once

#include "bench/checkpoint_folder.hpp"
#include "bench/checkpoint_options.hpp"
#include "bench/cli/console.hpp"
#include "bench/program.hpp"
#include "models/trainer.hpp"

namespace scalebench {

class Checkpointing {
 public:
  /// Collective: makes the folder before anything is trained. Throws UsageError on all ranks when
  /// it cannot be written, or holds checkpoints of a training that is not resumed from there.
  Checkpointing(const Ranks& ranks, const CheckpointOptions& options);

  /// Collective: puts `trainer` where the newest whole checkpoint was, when asked to. Warns of
  /// damaged ones. Throws UsageError when there is none, or it is of another training.
  TrainingProgress resume(Trainer& trainer) const;

  /// Collective, after an epoch: writes a checkpoint if one is due. Returns the seconds it took on
  /// the slowest rank, NaN without one. Throws Error on all ranks when it cannot be written.
  double after_epoch(Trainer& trainer, int epochs, double seconds_so_far, bool last) const;

 private:
  const Ranks& ranks_;
  const CheckpointOptions& options_;
  CheckpointFolder folder_;
};

}  // namespace scalebench
