// SPDX-License-Identifier: Apache-2.0
// What to train and how. Zero or empty means "as models.def says"; resolved() fills that in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/allreduce.hpp"
#include "models/data/dataset.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/network/models.hpp"
#include "models/step/step_trace.hpp"
#include "models/torch/device.hpp"

namespace scalebench {

// The documents' own rules for the length of an epoch, which see some images again or leave many
// out:
//   mlp        int(60000 / EPOCHS) steps with EPOCHS = 10: 3.2 passes at 2 workers of batch 16
//   mnist_cnn  500 // size steps: less work in all, the more workers do not divide 500
// Sources: a textbook on cloud training; Horovod's examples/tensorflow2_keras_mnist.py.

enum class EpochRule : std::uint8_t {
  whole,  // every image at most once (the last, partial batch is dropped)
  seed,   // steps as the documents count them, going round the data set again when it ends
};

/// Steps of an epoch by the documents' rule of that model. Throws UsageError for a model that has
/// none, and when the rule leaves no step for that many workers.
std::int64_t seed_steps_per_epoch(std::string_view model, int workers);

// Delays put into training on purpose, to prove that the account of where time goes books each on
// the right place. All zero: none.

struct Faults {
  /// In each step this rank computes so much longer at the begin of its forward pass, for which the
  /// others then wait. -1: no rank.
  int sleep_rank = -1;
  double sleep_seconds = 0;
  /// Each communication takes so much longer, on all ranks, after the last of them has come.
  double delay_collective_seconds = 0;
  /// Loading the images of a step takes so much longer, on all ranks.
  double throttle_input_seconds = 0;
};

// The learning rate of a step: a base rate, its growth with the number of ranks, and a warm-up; or
// the schedule with which ResNets are trained on ImageNet.
// The warm-up is Horovod's (horovod/_keras/callbacks.py, after Goyal et al. 2017): from the rate
// of one rank to that of all, linearly over the first epochs. Its momentum correction is left out.

enum class RateScaling : std::uint8_t { none, linear };

enum class RateSchedule : std::uint8_t {
  constant,  // after the warm-up
  resnet,    // base * batch / 256, 5 epochs of warm-up from 0, a tenth of it after 30, 60, 80, 90
};

struct RateRule {
  double base = 1e-3;
  /// linear: the base rate times the number of ranks (Horovod, SMDDP, Goyal et al.).
  RateScaling scaling = RateScaling::none;
  /// Epochs of warm-up, with linear scaling only; 0: none.
  double warmup_epochs = 0;
  /// resnet takes no notice of `scaling` and `warmup_epochs`, which it has of its own.
  RateSchedule schedule = RateSchedule::constant;
  /// Images of all ranks together in a step; only for resnet.
  std::int64_t global_batch = 256;
};

/// After the warm-up, before any boundary of the schedule.
double full_rate(const RateRule& rule, int ranks);

/// The rate of step `step` (counted from 0 over all epochs) with `ranks` ranks. During the warm-up
/// the full rate is multiplied by 1/ranks * (epoch * (ranks - 1) / warmup_epochs + 1), where
/// epoch = (step + 1) / steps_per_epoch: Horovod adds the one step so that epochs end on round
/// numbers. The schedule resnet is tf_cnn_benchmarks' (models/resnet_model.py, get_learning_rate):
/// step 0 has rate 0, and a boundary's own step still has the higher rate.
double learning_rate(const RateRule& rule, int ranks, std::int64_t step,
                     std::int64_t steps_per_epoch);

struct TrainerOptions {
  /// A name of models.def, or the path of a TorchScript module (with a dot or slash), which
  /// `module` describes. `choice` is what they mean, from resolved().
  std::string model = "mlp";
  ModuleOptions module = {};
  ModelChoice choice = {};
  /// See load_dataset.
  std::string dataset = "fashion-mnist";
  /// A name of gradient_sync.def, and the algorithm for those that reduce.
  std::string gradient_sync = "mirrored";
  const AllreduceAlgorithm* allreduce = nullptr;
  GradientSyncOptions sync = {};
  /// Images per step: of one worker (weak scaling), or of all together (strong scaling; must divide
  /// by the number of workers). Giving both is an error unless they agree; 0: from models.def.
  std::int64_t batch = 0;
  std::int64_t global_batch = 0;
  /// Backward passes of a step, each over that part of its images, whose gradients add up.
  std::int64_t accumulate = 1;
  Precision precision = Precision::float32;
  /// Images and weights with the channel as the fastest index, as tensor cores want them.
  bool channels_last = false;
  /// graph, and on a GPU fused: forward, backward and update of a step as one CUDA graph, without a
  /// launch a kernel. fused needs channels_last.
  StepKind step = StepKind::eager;
  /// `sgd` or `adam`; empty: from models.def.
  std::string optimizer = {};
  /// The base rate 0 stands for the one in models.def.
  RateRule rate{.base = 0};
  /// Seeds weights, shuffle, dropout and synthetic images.
  std::uint64_t seed = 1;
  /// Which images an epoch has. EpochRule::seed excludes samples_per_epoch.
  EpochRule epoch_rule = EpochRule::whole;
  /// Images that all ranks together take an epoch; 0: the whole data set.
  std::int64_t samples_per_epoch = 0;
  ComputeDevice device = ComputeDevice::cpu;
  int device_index = 0;
  /// CPU threads that this rank computes with.
  int threads = 1;
  /// Leave it to the C library to give freed memory back to the system; see keep_freed_memory().
  bool release_memory = false;
  /// Threads beside the rank's own that prepare batches ahead; 0: the rank prepares them itself.
  int loader_threads = 0;
  /// Do the part of one rank among so many, whose batch and images are this share of all; to find
  /// out what smaller batches alone cost. 1: a run of its own.
  int share_of = 1;
  Faults faults = {};
  /// On a GPU: wait for the device at the end of each phase, so that listeners see where time goes;
  /// false lets phases overlap, and only whole steps can be timed. No effect on the CPU.
  bool exact_phases = true;
  /// On a GPU: convolutions try all their kernels at the first step of a shape and keep the
  /// fastest, which may be another one in the next run: faster, and not the same bits each time.
  bool try_convolutions = false;
};

/// Beyond all data sets and machines, and small enough that no product of them is too large to
/// count.
constexpr std::int64_t kMostSamples = 1'000'000'000'000;    // of an epoch
constexpr std::int64_t kMostImagesOfAStep = 1'000'000'000;  // of all workers
constexpr std::int64_t kMostWorkers = 1'000'000'000;

/// Among how many the images of a step are divided when `ranks` ranks train so, as resolved() wants
/// to know it: the workers of all whose share is done, without ranks that see no images. Throws
/// UsageError as worker_count does, and for a share of none or too many.
int workers_of(const TrainerOptions& options, int ranks);

/// The options that a trainer with `workers` ranks that see images really uses: no zero or empty
/// value left but samples_per_epoch. Throws UsageError for unknown names and impossible numbers,
/// without reading the data set.
TrainerOptions resolved(TrainerOptions options, int workers);

// What must be the same for a training to go on from a checkpoint with the same bits: names and
// values, for a comparison that says what differs. How often and where it runs is no part of it,
// and neither are the number of CPU threads and the transport, which a user may have to change.

using Description = std::vector<std::pair<std::string, std::string>>;

/// `options`: resolved; `dataset`: its id as loaded.
Description description_of(const TrainerOptions& options, int ranks, int workers,
                           std::string_view dataset);

}  // namespace scalebench
