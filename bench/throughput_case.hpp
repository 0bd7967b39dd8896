// SPDX-License-Identifier: Apache-2.0
// Training steps of all ranks at once, each timed by its own rank; no rank waits for another inside
// a round, and a round lasts equally long on all, so that none finishes its share undisturbed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/device_spell.hpp"
#include "bench/largest_batch.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/memory_limit.hpp"
#include "bench/throughput_options.hpp"

namespace scalebench {

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
