// SPDX-License-Identifier: Apache-2.0
#include "models/training_description.hpp"

#include <fmt/format.h>

namespace scalebench {

Description description_of(const TrainerOptions& options, int ranks, int workers,
                           std::string_view dataset) {
  const bool reduces = options.allreduce != nullptr && ranks > 1;
  return {
      {"model", options.model},
      {"data", std::string(dataset)},
      {"ranks", std::to_string(ranks)},
      {"workers", std::to_string(workers)},
      {"global batch", std::to_string(options.global_batch)},
      {"accumulated passes", std::to_string(options.accumulate)},
      {"samples an epoch", std::to_string(options.samples_per_epoch)},
      {"optimizer", options.optimizer},
      {"learning rate", fmt::format("{}", options.rate.base)},
      {"learning-rate scaling", options.rate.scaling == RateScaling::linear ? "linear" : "none"},
      {"warm-up epochs", fmt::format("{}", options.rate.warmup_epochs)},
      {"seed", std::to_string(options.seed)},
      {"gradient sync", options.gradient_sync},
      // The order of additions is the algorithm's.
      {"allreduce", reduces ? std::string(options.allreduce->name) : std::string()},
      {"gradients travel as", std::string(name_of(options.sync.wire))},
      {"device", options.device == ComputeDevice::cpu ? "cpu" : "cuda"},
  };
}

}  // namespace scalebench
