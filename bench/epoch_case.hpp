// SPDX-License-Identifier: Apache-2.0
// Whole epochs on all ranks: from the first rank's start to the last rank's end, with the states of
// each rank, accuracy after each, and the proof that all replicas are still the same.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/epoch_options.hpp"
#include "bench/study/attribution.hpp"

namespace scalebench {

/// What one rank did in one epoch.
struct RankEpoch {
  double seconds = 0;                           // of its own
  std::array<double, kPhases> phase_seconds{};  // by Phase; they sum to `seconds`
  States states;                                // sum to the seconds of all ranks together
};

/// One epoch of all ranks; equal on every rank.
struct EpochMeasurement {
  double seconds = 0;  // last end - first start; behind clocks that disagree: longest duration
  double skew_seconds = 0;
  int slowest_rank = 0;
  bool clocks_agree = true;  // else waiting and transfer between hosts are told apart roughly
  Laggard laggard;
  std::int64_t samples = 0;  // really processed, all ranks together
  double loss = 0;           // mean over ranks
  double test_accuracy = 0;  // NaN without evaluation
  double evaluate_seconds = 0;
  bool replicas_equal = true;
  std::vector<RankEpoch> ranks;
};

struct EpochRun {
  TrainerOptions trainer;  // as resolved
  std::int64_t parameters = 0;
  std::string dataset;
  std::string transport;  // of gradients
  bool promises_equal_replicas = true;
  std::vector<EpochMeasurement> epochs;
};

/// Collective. `after_epoch` is called on every rank when an epoch has been measured.
EpochRun measure_epochs(const Ranks& ranks, const EpochOptions& options,
                        const std::function<void(const EpochRun&)>& after_epoch);

}  // namespace scalebench
