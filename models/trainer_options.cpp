// SPDX-License-Identifier: Apache-2.0
// Fills in a model's defaults and refuses what cannot be trained.
#include "models/trainer_options.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "kernels/error.hpp"
#include "models/data/sampler.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/step/optimizer.hpp"

namespace scalebench {
namespace {

constexpr std::int64_t kMlpSteps = 60'000 / 10;
constexpr std::int64_t kMnistCnnSteps = 500;

// The two formulas of learning_rate().

constexpr double kReferenceBatch = 256;
constexpr std::int64_t kResnetWarmup = 5;
constexpr std::int64_t kResnetBoundaries[]{30, 60, 80, 90};

double resnet_rate(double full, std::int64_t step, std::int64_t steps_per_epoch) {
  const std::int64_t warmup = kResnetWarmup * steps_per_epoch;
  if (step < warmup) return full * static_cast<double>(step) / static_cast<double>(warmup);
  double divisor = 1;
  for (const std::int64_t epoch : kResnetBoundaries) {
    if (step > epoch * steps_per_epoch) divisor *= 10;
  }
  return full / divisor;
}

constexpr int kMostLoaderThreads = 256;
/// tf_cnn_benchmarks' rate of a batch of 256.
constexpr double kResnetBase = 0.1;

void resolve_batch(TrainerOptions& options, std::int64_t model_batch, int workers) {
  if (options.batch < 0) fail<UsageError>("batch {}: expected at least 1", options.batch);
  if (options.global_batch > kMostImagesOfAStep) {
    fail<UsageError>("global batch {}: expected at most {}", options.global_batch,
                     kMostImagesOfAStep);
  }
  if (options.global_batch != 0) {
    const std::int64_t split = batch_per_rank(options.global_batch, workers);
    if (options.batch != 0 && options.batch != split) {
      fail<UsageError>("batch {} and global batch {} disagree on {} ranks; give one of them",
                       options.batch, options.global_batch, workers);
    }
    options.batch = split;
  }
  if (options.batch == 0) options.batch = model_batch;
  if (options.batch > kMostImagesOfAStep / workers) {
    fail<UsageError>("batch {} of each of {} workers: expected at most {}", options.batch, workers,
                     kMostImagesOfAStep / workers);
  }
  options.global_batch = options.batch * workers;
}

void check_input(const TrainerOptions& options, int workers) {
  if (options.loader_threads < 0 || options.loader_threads > kMostLoaderThreads) {
    fail<UsageError>("{} loader threads: expected 0 to {}", options.loader_threads,
                     kMostLoaderThreads);
  }
  if (options.epoch_rule == EpochRule::whole) return;
  seed_steps_per_epoch(options.model, workers);
  if (options.samples_per_epoch != 0) {
    fail<UsageError>("epoch rule seed says how many samples an epoch has; leave out the {} samples",
                     options.samples_per_epoch);
  }
}

void resolve_rate(RateRule& rate, double model_rate, std::int64_t global_batch) {
  const bool resnet = rate.schedule == RateSchedule::resnet;
  if (resnet && (rate.scaling != RateScaling::none || rate.warmup_epochs != 0)) {
    fail<UsageError>(
        "the resnet schedule scales with the batch and warms up by itself; leave out the other "
        "scaling and warm-up");
  }
  // It would change nothing on one rank, and what is compared with that on several.
  if (!resnet && rate.scaling == RateScaling::none && rate.warmup_epochs > 0) {
    fail<UsageError>(
        "a learning-rate warm-up of {} epochs goes from the rate of one rank to that of all, which "
        "without linear scaling are the same; add that, or leave out the warm-up",
        rate.warmup_epochs);
  }
  if (rate.base == 0) rate.base = resnet ? kResnetBase : model_rate;
  rate.global_batch = global_batch;
}

/// Its passes are those of micro-batches, whose gradients add up as well.
void check_micro_batches(const TrainerOptions& options) {
  if (options.accumulate != 1) {
    fail<UsageError>("model_split cuts a step into micro-batches; leave out accumulation");
  }
  if (options.sync.micro_batches < 1 || options.batch % options.sync.micro_batches != 0) {
    fail<UsageError>("{} images a step cannot be cut into {} micro-batches; expected a divisor",
                     options.batch, options.sync.micro_batches);
  }
}

void check_step(const TrainerOptions& options) {
  const bool graph = is_recorded(options.step, options.device == ComputeDevice::cuda);
  if (graph && options.gradient_sync != "none" && options.gradient_sync != "one_device") {
    fail<UsageError>("a step graph needs gradient sync none or one_device, not {}",
                     options.gradient_sync);
  }
  if (graph && options.precision == Precision::fp16) {
    fail<UsageError>(
        "a step graph keeps its loss scale: precision fp16 cannot have one, bfloat16 can");
  }
  if (options.step != StepKind::fused) return;
  if (options.precision == Precision::fp16) {
    fail<UsageError>("step fused: its layers are float32 and bfloat16, not fp16");
  }
  if (!options.channels_last) {
    fail<UsageError>("step fused: its layers are channels last; leave out the other order");
  }
}

}  // namespace

std::int64_t seed_steps_per_epoch(std::string_view model, int workers) {
  if (model == "mlp") return kMlpSteps;
  if (model != "mnist_cnn") {
    fail<UsageError>("epoch rule seed: the documents have none for {}; expected mlp or mnist_cnn",
                     model);
  }
  if (workers > kMnistCnnSteps) {
    fail<UsageError>("epoch rule seed: {} // {} workers leaves no step; expected at most {}",
                     kMnistCnnSteps, workers, kMnistCnnSteps);
  }
  return kMnistCnnSteps / workers;
}

double full_rate(const RateRule& rule, int ranks) {
  if (rule.schedule == RateSchedule::resnet) {
    return rule.base * (static_cast<double>(rule.global_batch) / kReferenceBatch);
  }
  return rule.scaling == RateScaling::none ? rule.base : rule.base * ranks;
}

double learning_rate(const RateRule& rule, int ranks, std::int64_t step,
                     std::int64_t steps_per_epoch) {
  const double full = full_rate(rule, ranks);
  if (rule.schedule == RateSchedule::resnet) return resnet_rate(full, step, steps_per_epoch);
  if (rule.scaling == RateScaling::none) return full;
  const double size = ranks;
  const double done = static_cast<double>(step) / static_cast<double>(steps_per_epoch);
  if (done >= rule.warmup_epochs) return full;
  const double epoch = static_cast<double>(step + 1) / static_cast<double>(steps_per_epoch);
  return full * (epoch * (size - 1) / rule.warmup_epochs + 1) / size;
}

int workers_of(const TrainerOptions& options, int ranks) {
  if (options.share_of < 1) fail<UsageError>("share of {}: expected at least 1", options.share_of);
  const int workers = worker_count(options.gradient_sync, options.sync, ranks);
  if (options.share_of > kMostWorkers / workers) {
    fail<UsageError>("share of {}: expected at most {}", options.share_of, kMostWorkers / workers);
  }
  return workers * options.share_of;
}

TrainerOptions resolved(TrainerOptions options, int workers) {
  if (options.choice.model != options.model) {
    options.choice = choose_model(options.model, options.module);
  }
  const ModelChoice& model = options.choice;
  gradient_sync_named(options.gradient_sync);
  resolve_batch(options, model.batch, workers);
  if (options.samples_per_epoch < 0 || options.samples_per_epoch > kMostSamples) {
    fail<UsageError>("{} samples an epoch: expected 0 to {}", options.samples_per_epoch,
                     kMostSamples);
  }
  if (options.accumulate < 1 || options.batch % options.accumulate != 0) {
    fail<UsageError>("{} images a step cannot be accumulated from {} passes; expected a divisor",
                     options.batch, options.accumulate);
  }
  if (options.gradient_sync == "model_split") check_micro_batches(options);
  if (options.optimizer.empty()) options.optimizer = model.optimizer;
  row_named(optimizer_names(), std::identity(), "optimizer", options.optimizer);
  check_input(options, workers);
  resolve_rate(options.rate, model.learning_rate, options.global_batch);
  check_step(options);
  if (!std::isfinite(options.rate.base) || options.rate.base < 0) {
    fail<UsageError>("learning rate {}: expected a positive number", options.rate.base);
  }
  if (!std::isfinite(options.rate.warmup_epochs) || options.rate.warmup_epochs < 0) {
    fail<UsageError>("{} warm-up epochs: expected 0 or more", options.rate.warmup_epochs);
  }
  return options;
}

Description description_of(const TrainerOptions& options, int ranks, int workers,
                           std::string_view dataset) {
  const bool reduces = options.allreduce != nullptr && ranks > 1;
  const RateRule& rate = options.rate;
  const GradientSyncOptions& sync = options.sync;
  const auto place = [](auto value) { return static_cast<std::size_t>(value); };
  return {
      // Of a file that name has the hash.
      {"model", options.choice.label},
      {"loss", std::string(kLossNames.at(place(options.choice.loss)))},
      {"data", std::string(dataset)},
      {"ranks", std::to_string(ranks)},
      {"workers", std::to_string(workers)},
      {"global batch", std::to_string(options.global_batch)},
      {"accumulated passes", std::to_string(options.accumulate)},
      {"samples an epoch", std::to_string(options.samples_per_epoch)},
      {"epoch rule", options.epoch_rule == EpochRule::whole ? "whole" : "seed"},
      {"share of", std::to_string(options.share_of)},
      {"precision", std::string(kPrecisionNames.at(place(options.precision)))},
      {"memory format", options.channels_last ? "channels_last" : "contiguous"},
      {"step", std::string(kStepNames.at(place(options.step)))},
      {"convolutions", options.try_convolutions ? "the fastest of a trial" : "the first"},
      {"optimizer", options.optimizer},
      {"learning rate", fmt::format("{}", rate.base)},
      {"learning-rate scaling", rate.scaling == RateScaling::linear ? "linear" : "none"},
      {"learning-rate schedule", rate.schedule == RateSchedule::resnet ? "resnet" : "constant"},
      {"warm-up epochs", fmt::format("{}", rate.warmup_epochs)},
      {"seed", std::to_string(options.seed)},
      {"gradient sync", options.gradient_sync},
      // The order of additions is the algorithm's.
      {"allreduce", reduces ? std::string(options.allreduce->name) : std::string()},
      // And what is added together.
      {"bucket bytes", std::to_string(sync.bucket_bytes)},
      {"fusion bytes", std::to_string(sync.fusion_bytes)},
      {"cycle seconds", fmt::format("{}", sync.cycle_seconds)},
      {"servers", std::to_string(sync.servers)},
      {"micro batches", std::to_string(sync.micro_batches)},
      {"gradients travel as", std::string(name_of(sync.wire))},
      {"device", options.device == ComputeDevice::cpu ? "cpu" : "cuda"},
  };
}

}  // namespace scalebench
