// SPDX-License-Identifier: Apache-2.0
// Trains one replica of a model as one of N ranks: load, forward, backward, synchronise, update.
// Has no clock: it tells a StepTrace what it does. Free of LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/communicator.hpp"
#include "models/checkpoint.hpp"
#include "models/step/step_trace.hpp"
#include "models/step/traced_step.hpp"
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

/// On the whole test set, the same on every rank.
struct Evaluation {
  /// Share of the images that are classified correctly.
  double accuracy = 0;
  /// Mean cross-entropy.
  double loss = 0;
};

class Trainer {
 public:
  /// Reads the data set, builds the network with equal weights on every rank, and sets LibTorch up
  /// for the calling thread, which must also make all later calls. `gradients` carries gradients
  /// (host or device memory), `control` small host data; they may be the same and must outlive the
  /// trainer, as must `trace`. Collective. Throws UsageError, Unavailable, OutOfMemory and Error.
  Trainer(const TrainerOptions& options, Communicator& gradients, Communicator& control,
          StepTrace& trace);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// The options with all defaults filled in.
  const TrainerOptions& options() const;
  std::int64_t parameter_count() const;
  /// Floating-point operations of a forward pass of one image; see layer_costs().
  double forward_flops();
  /// Ranks that see images, all or fewer.
  int workers() const;
  std::int64_t steps_per_epoch() const;
  /// Images in the training split, and the data set's name.
  std::int64_t training_images() const;
  const std::string& dataset_name() const;
  /// What tells its training split from those of other sets of that name; see id_of_set().
  const std::string& dataset_id() const;

  /// Collective (except with gradient sync `none`): all steps of epoch `epoch`, counted from 0,
  /// which decides the shuffle and the warm-up. With a strategy that promises equal replicas, rank
  /// 0's batch-normalisation statistics go to all at the end (phase evaluate). Throws OutOfMemory.
  EpochResult train_epoch(int epoch);

  /// Collective as train_epoch: one full step on the next batch, going round epoch after epoch
  /// from epoch 0 independently of train_epoch.
  void train_step();

  /// The layers of the network in the order of the forward pass, without durations.
  std::vector<TracedLayer> layers() const;

  /// The steps that follow tell `trace` of each of these layers; null: no more. Not with a strategy
  /// that has a pass of its own, nor in step graphs.
  void trace_layers(LayerTrace* trace);

  /// Collective: accuracy and loss on the test set. Every rank evaluates a slice of the images; the
  /// counts are summed exactly. Batch-normalisation statistics are rank 0's (not with `none`, where
  /// every rank has a model of its own).
  Evaluation evaluate();

  /// Collective (phase evaluate), after `epochs` epochs: on rank 0 the bytes of a checkpoint, from
  /// which restore() goes on with the same bits (not with horovod on 3 ranks or more nor ps_async,
  /// whose sums depend on when each rank comes, nor with the allreduce `auto`, which may be given
  /// another table); empty on other ranks. `seconds` is kept for the caller. Throws UsageError
  /// where several ranks have no common model; see trains_one_model.
  std::string checkpoint(int epochs, double seconds);

  /// Collective, before the first epoch: takes over what rank 0's `bytes` hold; the bytes of other
  /// ranks do not matter. Returns how far they had come. Throws UsageError, on all ranks alike,
  /// when they are of a training that is not this one, and says what differs.
  TrainingProgress restore(const std::string& bytes);

  /// Collective: whether all parameters and buffers have the same bits on every rank.
  bool replicas_equal();

  /// Empty, or why what this rank has trained so far is void, in a line that names rank and step: a
  /// loss that was infinite or not a number. Training goes on meanwhile, so that ranks can stop
  /// together.
  std::string failure() const;

  /// Collective: lines for the row's note: steps that loss scaling skipped, and
  /// GradientSync::remarks.
  std::string remarks() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scalebench
