// SPDX-License-Identifier: Apache-2.0
// What to train and how. Zero or empty means "as models.def says"; resolved() fills that in.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/allreduce.hpp"
#include "models/faults.hpp"
#include "models/gradient_sync_options.hpp"
#include "models/learning_rate.hpp"

namespace scalebench {

enum class ComputeDevice : std::uint8_t { cpu, cuda };

struct TrainerOptions {
  /// A name of models.def.
  std::string model = "mlp";
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
  /// `sgd` or `adam`; empty: from models.def.
  std::string optimizer = {};
  /// The base rate 0 stands for the one in models.def.
  RateRule rate{.base = 0};
  /// Seeds weights, shuffle, dropout and synthetic images.
  std::uint64_t seed = 1;
  /// Images that all ranks together take an epoch; 0: the whole data set.
  std::int64_t samples_per_epoch = 0;
  ComputeDevice device = ComputeDevice::cpu;
  int device_index = 0;
  /// CPU threads that this rank computes with.
  int threads = 1;
  /// Do the part of one rank among so many, whose batch and images are this share of all; to find
  /// out what smaller batches alone cost. 1: a run of its own.
  int share_of = 1;
  Faults faults = {};
  /// On a GPU: wait for the device at the end of each phase, so that listeners see where time goes;
  /// false lets phases overlap, and only whole steps can be timed. No effect on the CPU.
  bool exact_phases = true;
};

/// The options that a trainer with `workers` ranks that see images really uses: no zero or empty
/// value left but samples_per_epoch. Throws UsageError for unknown names and impossible numbers,
/// without reading the data set.
TrainerOptions resolved(TrainerOptions options, int workers);

}  // namespace scalebench
