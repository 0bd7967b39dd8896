// SPDX-License-Identifier: Apache-2.0
// Trains one replica of a model as one of N ranks: load, forward, backward, synchronise, update.
// Has no clock: it tells a StepTrace what it does. Free of LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "collectives/communicator.hpp"
#include "models/step_trace.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

struct EpochResult {
  std::int64_t steps = 0;
  /// Images that this rank really processed; the sum over ranks counts each once.
  std::int64_t samples = 0;
  /// Mean training loss of this rank, NaN where it saw no images. Slices are of equal size: the
  /// mean over workers is the loss.
  double loss = 0;
};

class Trainer {
 public:
  /// Reads the data set, builds the network with equal weights on every rank, and sets LibTorch up
  /// for the calling thread, which must also make all later calls. `gradients` carries gradients
  /// (host or device memory), `control` small host data; they may be the same and must outlive the
  /// trainer, as must `trace`. Collective. Throws UsageError, Unavailable and Error.
  Trainer(const TrainerOptions& options, Communicator& gradients, Communicator& control,
          StepTrace& trace);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// The options with all defaults filled in.
  const TrainerOptions& options() const;
  std::int64_t parameter_count() const;
  /// Ranks that see images, all or fewer.
  int workers() const;
  std::int64_t steps_per_epoch() const;
  /// Images in the training split, and the data set's name.
  std::int64_t training_images() const;
  const std::string& dataset_name() const;

  /// Collective (except with gradient sync `none`): all steps of epoch `epoch`, counted from 0,
  /// which decides the shuffle and the warm-up. With a strategy that promises equal replicas, rank
  /// 0's batch-normalisation statistics go to all at the end (phase evaluate).
  /// Throws Error naming rank and step when the loss is infinite or not a number.
  EpochResult train_epoch(int epoch);

  /// Collective as train_epoch: one full step on the next batch, going round epoch after epoch
  /// from epoch 0 independently of train_epoch.
  void train_step();

  /// Collective: share of the test set that is classified correctly, the same on every rank. Every
  /// rank evaluates a slice of the images; the counts are summed exactly. Batch-normalisation
  /// statistics are rank 0's (not with `none`, where every rank has a model of its own).
  double evaluate();

  /// Collective: whether all parameters and buffers have the same bits on every rank.
  bool replicas_equal();

  /// Collective: the largest relative L2 distance of a worker's parameters from their mean over
  /// the workers; 0 where all are equal.
  double replica_divergence();

  /// Collective: lines for the row's note; see GradientSync::remarks.
  std::string remarks() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scalebench
