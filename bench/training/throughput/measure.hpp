// SPDX-License-Identifier: Apache-2.0
// The search for the largest batch that memory holds: doubling from a batch that is likely to fit,
// then bisection to a sixteenth, so that runs agree on it although free memory varies a little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure/statistics.hpp"
#include "bench/program/card_watch.hpp"
#include "bench/training/joint_failure.hpp"
#include "bench/training/throughput/options.hpp"
#include "kernels/device.hpp"
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

// How long each of many steps in a row takes, without stopping a device between them: on a CPU by
// the clock, on a GPU by an event behind each step. The host runs a few steps ahead of the device,
// as in training.

class StepTimer {
 public:
  explicit StepTimer(ComputeDevice device) : on_device_(device == ComputeDevice::cuda) {}

  /// Before the first step of a round, on the thread that makes the steps.
  void begin();
  /// Behind each step, which need not have ended on the device.
  void step_enqueued();
  /// Waits for the last step and appends the seconds of each since begin().
  void end(std::vector<double>& seconds);

 private:
  void mark();

  bool on_device_;
  std::vector<double> stamps_;      // CPU
  std::deque<DeviceEvent> events_;  // GPU; kept for the next round
  std::size_t marks_ = 0;           // events of this round
};

// Training steps of all ranks at once, each timed by its own rank; no rank waits for another inside
// a round, and a round lasts equally long on all, so that none finishes its share undisturbed.

struct ThroughputResult {
  TrainerOptions trainer;  // as resolved, this rank's
  std::int64_t parameters = 0;
  double forward_flops = 0;                       // of one image
  std::optional<BatchSearch> search;              // that found the batch
  std::vector<std::vector<double>> step_seconds;  // by rank, in measured order; on every rank
  std::vector<std::vector<DeviceSpell>> spells;   // by rank and step; empty: no card is watched
  bool converged = false;
  std::string failure;         // why there is nothing, or nothing valid, in step_seconds
  bool out_of_memory = false;  // that is why
  std::string remarks;         // rank 0's
};

/// Collective; the batch is that of options.training.trainer. Warm-up: at least 10 steps and 0.5 s.
/// Nothing waits for a GPU inside a round but the clock's own events. Too little memory on any
/// rank, and a loss that is not a number, end in `failure` on all of them.
ThroughputResult measure_throughput(const Ranks& ranks, const ThroughputOptions& options);

/// Collective: the largest batch with which all ranks can train at once, tried on trainers that are
/// thrown away, each of which stays within `limit`; options.training.trainer.batch is not looked
/// at.
BatchSearch search_largest_batch(const Ranks& ranks, const ThroughputOptions& options,
                                 const MemoryLimit& limit);

}  // namespace scalebench
