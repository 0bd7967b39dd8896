// SPDX-License-Identifier: Apache-2.0
// Training steps of all ranks at once, each timed by its own rank; no rank waits for another inside
// a round, and a round lasts equally long on all, so that none finishes its share undisturbed.
#pragma once

#include <string>
#include <vector>

#include "bench/program/card_watch.hpp"
#include "bench/training/throughput/options.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

/// Half the width of each rank's interval relative to its median, with which it stops.
inline constexpr double kTarget = 0.01;

struct ThroughputResult {
  TrainerOptions trainer;                         // as resolved, this rank's
  double forward_flops = 0;                       // of one image
  std::vector<std::vector<double>> step_seconds;  // by rank, in measured order; on every rank
  std::vector<CardSummary> cards;                 // by rank
  std::string failure;          // why there is nothing, or nothing valid, in step_seconds
  bool out_of_memory = false;   // that is why
  bool too_few_images = false;  // or that: a step takes more than the data set has
  std::string remarks;          // rank 0's
};

/// Collective; the batch is that of options.training.trainer. Warm-up: 0.5 s and at least until a
/// step graph has been recorded and replayed, which takes 13 steps. Nothing waits for a GPU inside
/// a round but the clock's own events. Too little memory on any rank, and a loss that is not a
/// number, end in `failure` on all of them.
ThroughputResult measure_throughput(const Ranks& ranks, const ThroughputOptions& options);

}  // namespace scalebench
