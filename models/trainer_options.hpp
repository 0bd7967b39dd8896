// SPDX-License-Identifier: Apache-2.0
// What to train and how. Zero or empty means "as models.def says"; resolved() fills that in.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/allreduce.hpp"
#include "models/epoch_rule.hpp"
#include "models/faults.hpp"
#include "models/gradient_sync_options.hpp"
#include "models/learning_rate.hpp"
#include "models/model_choice.hpp"
#include "models/pace.hpp"
#include "models/precision.hpp"

namespace scalebench {

enum class ComputeDevice : std::uint8_t { cpu, cuda };

/// What happens at an image that cannot be decoded.
enum class BadImages : std::uint8_t {
  stop,  // training fails with the file's name
  skip,  // the next one that can be decoded takes its place, and is counted
};

/// Where the data set's files are when an epoch begins, if they are read while training.
enum class PageCache : std::uint8_t {
  as_is,  // wherever the runs before left them
  cold,   // on disk: dropped from memory before each epoch
  warm,   // in memory: read once before the first epoch
};

/// Steps that are launched kernel by kernel before a step graph is recorded, so that libraries have
/// chosen their kernels and made their workspaces.
inline constexpr int kStepsBeforeGraph = 11;

struct TrainerOptions {
  /// A name of models.def, the path of a TorchScript module (with a dot or slash), which `module`
  /// describes, or `replay:` and a file of recorded steps. `choice` is what they mean, from
  /// resolved().
  std::string model = "mlp";
  ModuleOptions module = {};
  ModelChoice choice = {};
  /// For a model that is replayed; must outlive the trainer.
  Pace* pace = nullptr;
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
  /// On a GPU: forward, backward and update of a step as one CUDA graph, without a launch a kernel.
  bool step_graph = false;
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
  BadImages bad_images = BadImages::stop;
  PageCache page_cache = PageCache::as_is;
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

/// The options that a trainer with `workers` ranks that see images really uses: no zero or empty
/// value left but samples_per_epoch. Throws UsageError for unknown names and impossible numbers,
/// without reading the data set.
TrainerOptions resolved(TrainerOptions options, int workers);

}  // namespace scalebench
