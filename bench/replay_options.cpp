// SPDX-License-Identifier: Apache-2.0
#include "bench/replay_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// Options of what is computed, of images, and of a model's quality.
constexpr std::array<const char*, 15> kOfComputing{
    "--precision",       "--channels-last", "--step",       "--accumulate", "--micro-batches",
    "--loader-threads",  "--bad-images",    "--page-cache", "--epoch-rule", "--data-dir",
    "--target-accuracy", "--share-of",      "--devices",    "--loss",       "--input-shape"};

/// A sleeping model needs no warming up, the communication does.
constexpr int kWarmUpSteps = 2;
constexpr std::int64_t kImages = 60'000;

bool given(const CLI::App& app, const char* option) { return app.get_option(option)->count() > 0; }

}  // namespace

void add_replay_options(CLI::App& app, EpochOptions& options) {
  app.add_option("--dilation", options.training.trainer.module.dilation,
                 "of a replayed model: every recorded duration is so many times as long")
      ->capture_default_str();
  app.add_option("--record-trace", options.record_trace,
                 "after the epochs, on one rank: record steps layer by layer, for --model "
                 "replay:FILE; without a folder: in that of --out")
      ->type_name("FILE");
  app.add_option("--record-steps", options.record_steps,
                 "how many; 0: 30, or fewer if they take over 2 seconds")
      ->capture_default_str();
}

void apply_replay_options(const CLI::App& app, EpochOptions& options) {
  TrainerOptions& trainer = options.training.trainer;
  if (options.record_steps < 0) {
    fail<UsageError>("--record-steps {}: must not be negative", options.record_steps);
  }
  if (options.record_steps > 0 && options.record_trace.empty()) {
    fail<UsageError>("--record-steps: give a file with --record-trace");
  }
  if (trainer.choice.trace == nullptr) return;
  for (const char* const option : kOfComputing) {
    if (given(app, option)) {
      fail<UsageError>("{}: {} computes nothing and sees no images; leave it out", option,
                       trainer.model);
    }
  }
  if (options.training.device == "cuda") {
    fail<UsageError>("--device cuda: {} sleeps on the CPU; expected cpu", trainer.model);
  }
  options.training.device = "cpu";
  options.training.record.emulated = true;
  options.evaluate = false;
  if (!given(app, "--warmup-steps")) options.warm_up_steps = kWarmUpSteps;
  trainer.dataset = fmt::format("synthetic:{}", std::max(kImages, trainer.samples_per_epoch));
}

void check_replay(const EpochOptions& options, const TrainerOptions& trainer) {
  const auto& trace = options.training.trainer.choice.trace;
  if (trace == nullptr || trainer.batch == trace->batch) return;
  fail<UsageError>(
      "{} is of {} images a step, and each worker has {} here; give --scaling weak, --global-batch "
      "{}, or a trace that was recorded with {} images a step",
      trainer.model, trace->batch, trainer.batch,
      trace->batch * trainer.global_batch / std::max<std::int64_t>(1, trainer.batch),
      trainer.batch);
}

}  // namespace scalebench
