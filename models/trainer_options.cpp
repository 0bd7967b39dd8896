// SPDX-License-Identifier: Apache-2.0
// Fills in a model's defaults and refuses what cannot be trained.
#include "models/trainer_options.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/unknown_name.hpp"
#include "models/gradient_sync.hpp"
#include "models/models.hpp"
#include "models/optimizer.hpp"
#include "models/sampler.hpp"

namespace scalebench {
namespace {

void resolve_batch(TrainerOptions& options, std::int64_t model_batch, int workers) {
  if (options.batch < 0) fail<UsageError>("batch {}: expected at least 1", options.batch);
  if (options.global_batch != 0) {
    const std::int64_t split = batch_per_rank(options.global_batch, workers);
    if (options.batch != 0 && options.batch != split) {
      fail<UsageError>("batch {} and global batch {} disagree on {} ranks; give one of them",
                       options.batch, options.global_batch, workers);
    }
    options.batch = split;
  }
  if (options.batch == 0) options.batch = model_batch;
  options.global_batch = options.batch * workers;
}

}  // namespace

TrainerOptions resolved(TrainerOptions options, int workers) {
  const ModelInfo& model = model_named(options.model);
  gradient_sync_named(options.gradient_sync);
  if (options.share_of < 1) fail<UsageError>("share of {}: expected at least 1", options.share_of);
  resolve_batch(options, model.batch, workers);
  if (options.accumulate < 1 || options.batch % options.accumulate != 0) {
    fail<UsageError>("{} images a step cannot be accumulated from {} passes; expected a divisor",
                     options.batch, options.accumulate);
  }
  if (options.optimizer.empty()) options.optimizer = model.optimizer;
  const auto optimizers = optimizer_names();
  if (std::find(optimizers.begin(), optimizers.end(), options.optimizer) == optimizers.end()) {
    throw UsageError(unknown_name("optimizer", options.optimizer, optimizers));
  }
  if (options.rate.base == 0) options.rate.base = model.learning_rate;
  if (!std::isfinite(options.rate.base) || options.rate.base < 0) {
    fail<UsageError>("learning rate {}: expected a positive number", options.rate.base);
  }
  if (!std::isfinite(options.rate.warmup_epochs) || options.rate.warmup_epochs < 0) {
    fail<UsageError>("{} warm-up epochs: expected 0 or more", options.rate.warmup_epochs);
  }
  return options;
}

}  // namespace scalebench
