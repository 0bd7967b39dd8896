// SPDX-License-Identifier: Apache-2.0
// Whole epochs on all ranks: from the first rank's start to the last rank's end, with the states of
// each rank, accuracy after each, and the proof that all replicas are still the same.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bench/program/devices.hpp"
#include "bench/program/program.hpp"
#include "bench/training/epoch/account.hpp"
#include "bench/training/epoch/options.hpp"
#include "models/checkpoint_file.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

/// One epoch of all ranks; equal on every rank.
struct EpochMeasurement : EpochTimes {
  std::int64_t samples = 0;  // really processed, all ranks together
  double loss = 0;           // mean over ranks that saw images
  double test_accuracy = 0;  // NaN without evaluation
  double test_loss = 0;      // as well
  double joules = 0;         // of all cards; NaN where they are not counted
  bool replicas_equal = true;
};

struct EpochRun {
  TrainerOptions trainer;  // as resolved
  std::int64_t parameters = 0;
  std::string dataset;
  std::string dataset_id;  // for cases: several sets may have that name
  std::string transport;   // of gradients
  bool promises_equal_replicas = true;
  int workers = 1;
  TrainingProgress earlier;              // before this start, from a checkpoint
  std::vector<EpochMeasurement> epochs;  // those that are valid
  std::string remarks;
  /// Why it ended early; then nothing in it is a result.
  std::string failure;
  /// Why these ranks cannot have the transport; then nothing was measured.
  std::string skipped;
  /// This rank failed inside a step, where others may wait for it: no collective works any more.
  bool alone = false;

  /// Epochs since the training's beginning, and their seconds.
  int epochs_done() const { return earlier.epochs + static_cast<int>(epochs.size()); }
  double seconds_done() const;
};

/// At least one epoch.
MiddleEpochs middle_of(const EpochRun& run);

/// Whether the last epoch reached the target, if there is one.
bool reached_target(const EpochOptions& options, const EpochRun& run);

/// Collective. `after_epoch` is called on every rank when an epoch has been measured. A loss that
/// is not a number ends it after its epoch, on all ranks; too little memory at once, on its rank
/// alone. `transport`: what the gradients went over, null for `ranks.host`, for whoever makes
/// more steps afterwards.
EpochRun measure_epochs(const Ranks& ranks, const EpochOptions& options,
                        std::unique_ptr<Communicator>& transport,
                        const std::function<void(const EpochRun&)>& after_epoch);

}  // namespace scalebench
