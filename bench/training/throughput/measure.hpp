// SPDX-License-Identifier: Apache-2.0
// The search for the largest batch that memory holds: doubling from a batch that is likely to fit,
// then bisection to a sixteenth, so that runs agree on it although free memory varies a little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/program/card_watch.hpp"
#include "bench/training/throughput/options.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

struct BatchSearch {
  std::int64_t largest = 0;  // 0: not even one image fits
  bool all_fit = false;      // it is as large as the data set allows
  std::string tried;         // "32 64 128! 96 112!": in this order, ! did not fit
};

/// `fits` is asked of batches from 1 to `most`; whether memory holds one is taken to be monotone.
/// `first`: where to begin, at least 1.
BatchSearch largest_batch(std::int64_t first, std::int64_t most,
                          const std::function<bool(std::int64_t)>& fits);

// A cap on the memory that training takes. On a GPU LibTorch's share of the device is cut, so that
// an allocation fails. On a CPU it is counted afterwards what the process has grown by: libraries
// below LibTorch do not live through an allocation that fails.

class MemoryLimit {
 public:
  /// On the device of `trainer`, until destroyed; 0 bytes: no cap. Throws Error when the system
  /// does not say what a process holds.
  MemoryLimit(const TrainerOptions& trainer, std::size_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  /// By how much a CPU's process has grown beyond the cap since then, in words; empty: it has not.
  std::string exceeded() const;

 private:
  std::size_t bytes_;
  std::optional<int> device_;
  std::size_t before_ = 0;
};

// Training steps of all ranks at once, each timed by its own rank; no rank waits for another inside
// a round, and a round lasts equally long on all, so that none finishes its share undisturbed.

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

/// Collective: the largest batch with which all ranks can train at once, tried on trainers that are
/// thrown away, each of which stays within options.memory_limit beyond what a process has taken
/// after its first step; options.training.trainer.batch is not looked at.
BatchSearch search_largest_batch(const Ranks& ranks, const ThroughputOptions& options);

}  // namespace scalebench
