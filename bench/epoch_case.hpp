// SPDX-License-Identifier: Apache-2.0
// Whole epochs on all ranks: from the first rank's start to the last rank's end, with the phases of
// each rank, accuracy after each, and the proof that all replicas are still the same.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/epoch_options.hpp"
#include "models/step_trace.hpp"

namespace scalebench {

/// What one rank did in one epoch.
struct RankEpoch {
  double seconds = 0;                           // of its own
  std::int64_t samples = 0;                     // counted here; 0 where others count them
  std::array<double, kPhases> phase_seconds{};  // by Phase; `other` is the rest of `seconds`
};

/// One epoch of all ranks; equal on every rank.
struct EpochMeasurement {
  double seconds = 0;  // last end - first start; behind clocks that disagree: longest duration
  double skew_seconds = 0;
  int slowest_rank = 0;
  std::int64_t samples = 0;  // really processed, all ranks together
  double loss = 0;           // mean over ranks that saw images
  double test_accuracy = 0;  // NaN without evaluation
  double evaluate_seconds = 0;
  bool replicas_equal = true;
  double replica_divergence = 0;  // NaN where replicas are promised equal
  std::vector<RankEpoch> ranks;
};

struct EpochRun {
  TrainerOptions trainer;  // as resolved
  std::int64_t parameters = 0;
  std::string dataset;
  std::string transport;  // of gradients
  bool promises_equal_replicas = true;
  int workers = 1;
  std::string remarks;  // of the gradient sync, after the last epoch so far
  std::vector<EpochMeasurement> epochs;
};

/// Collective. `after_epoch` is called on every rank when an epoch has been measured.
EpochRun measure_epochs(const Ranks& ranks, const EpochOptions& options,
                        const std::function<void(const EpochRun&)>& after_epoch);

}  // namespace scalebench
