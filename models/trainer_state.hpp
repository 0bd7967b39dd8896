// SPDX-License-Identifier: Apache-2.0
// What a Trainer is made of, and its step: load, forward, backward, sync, update.
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "kernels/error.hpp"
#include "models/data/batch_stream.hpp"
#include "models/data/image_source.hpp"
#include "models/data/sampler.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/gradients/pass.hpp"
#include "models/gradients/replica.hpp"
#include "models/network/loss.hpp"
#include "models/network/network.hpp"
#include "models/network/replay.hpp"
#include "models/step/step_trace.hpp"
#include "models/torch/compute.hpp"
#include "models/torch/device.hpp"
#include "models/torch/step_graph.hpp"
#include "models/trainer.hpp"
#include "models/trainer_options.hpp"

namespace scalebench {

// What a network makes of images that it does not train on.

struct Tally {
  double correct = 0;  // images that are classified correctly
  double loss = 0;     // summed over images
  std::int64_t replaced = 0;
};

/// Of the images [first, end) of `test`, in evaluation mode; the network trains again afterwards.
Tally tally_of(Network& network, const ImageSource& test, std::int64_t first, std::int64_t end,
               const TrainerOptions& options, torch::Device device);

struct Trainer::State {
  State(const TrainerOptions& given, Communicator& gradients, Communicator& control_ranks,
        StepTrace& step_trace)
      : ranks(gradients.size()),
        rank(gradients.rank()),
        control(control_ranks),
        delayed(step_trace, given.faults.delay_collective_seconds),
        trace(given.faults.delay_collective_seconds > 0 ? delayed : step_trace),
        sync_info(gradient_sync_named(given.gradient_sync)),
        choice(choose_model(given.model, given.module)),
        pace(choice, given.pace),
        device(device_for(given)),
        network(network_on(device, choice, given)),
        sync(make_sync(given, gradients)),
        options(resolved(given, sync->workers().count * given.share_of)),
        // Loader threads work beside the device, so their images stay with the CPU.
        training(images_of(options, Split::train,
                           options.data.loader_threads > 0 ? torch::kCPU : device)),
        test(images_of(options, Split::test, device)),
        sampler({training->count(), options.samples_per_epoch, options.batch,
                 sync->workers().count * options.share_of, std::max(0, sync->workers().index),
                 options.seed,
                 options.epoch_rule == EpochRule::seed
                     ? seed_steps_per_epoch(options.model, sync->workers().count)
                     : 0}),
        losses(rank),
        loss_scale(options.precision),
        network_pass(*network, *sync, {options.choice.loss, options.precision, options.accumulate},
                     [this](Phase phase) {
                       if (step_graph == nullptr) enter(phase);
                     }) {
    if (control.size() != ranks || control.rank() != rank) {
      fail("rank {} of {} for gradients is rank {} of {} for control", rank, ranks, control.rank(),
           control.size());
    }
    if (options.data.page_cache != PageCache::as_is && training->files() == 0) {
      fail<UsageError>(
          "page cache {}: {} is in memory while it trains; only the files of JPEG folders are read "
          "then",
          options.data.page_cache == PageCache::cold ? "cold" : "warm", training->name());
    }
    check_choices();
    if (options.step_graph) {
      step_graph =
          make_step_graph({[this](const torch::Tensor& images, const torch::Tensor& labels) {
                             return work(network_pass, {images, labels}, rate_of_graph).loss;
                           },
                           [this] { return network->generators(); }});
    }
    network->seed_dropout(
        SplitMix(SplitMix(options.seed).next() + static_cast<std::uint64_t>(rank)).next());
  }

  static torch::Device device_for(const TrainerOptions& given) {
    const auto device = select_compute_device(given.device, given.device_index, given.threads);
    if (!given.release_memory) keep_freed_memory();
    require_precision(given.precision, device);
    allow_tensor_cores(given.precision);
    try_convolutions(given.try_convolutions);
    if (given.step_graph) begin_step_graphs(device);
    return device;
  }

  static std::shared_ptr<Network> network_on(torch::Device device, const ModelChoice& choice,
                                             const TrainerOptions& given) {
    auto network = make_network(choice, given.seed, given.pace);
    network->to(device);
    if (given.channels_last) make_channels_last(*network);
    return network;
  }

  /// What only now can be known to be impossible.
  void check_choices() const {
    if (choice.is_file() && !scalebench::replicas_equal(*network, control)) {
      fail<UsageError>("{}: not the same parameters on all ranks; every host needs the same file",
                       choice.model);
    }
    const bool usual = options.precision == Precision::float32 &&
                       choice.loss == Loss::cross_entropy && !options.channels_last &&
                       choice.trace == nullptr;
    if (sync->own_pass() != nullptr && !usual) {
      fail<UsageError>(
          "gradient sync {} has a pass of its own: float32, contiguous, cross_entropy, no trace",
          options.gradient_sync);
    }
  }

  static std::unique_ptr<ImageSource> images_of(const TrainerOptions& options, Split split,
                                                torch::Device where) {
    return open_image_source(options.dataset, split, options.choice.shape, options.seed,
                             options.data.bad_images, where);
  }

  std::unique_ptr<GradientSync> make_sync(const TrainerOptions& given, Communicator& gradients) {
    const std::string optimizer = given.optimizer.empty() ? choice.optimizer : given.optimizer;
    const ImageShape& shape = choice.shape;
    return sync_info.make({network->parameters(),
                           gradients,
                           given.allreduce,
                           optimizer,
                           trace,
                           given.sync,
                           network.get(),
                           {shape.channels, shape.height, shape.width},
                           pace.update()});
  }

  bool sees_images() const { return sync->workers().index >= 0; }

  /// This rank's batches of one epoch.
  std::unique_ptr<BatchStream> batches_of(int epoch) const {
    return std::make_unique<BatchStream>(
        *training, sampler.epoch(epoch), device,
        BatchStreamOptions{options.batch, epoch, options.data.loader_threads,
                           options.faults.throttle_input_seconds, options.channels_last});
  }

  /// `batches` are those of the epoch which `step`, counted over all epochs, belongs to.
  void step(BatchStream& batches, std::int64_t step) {
    trace.begin_step();
    enter(Phase::load);
    const Batch batch = pace.load([&] { return batches.next(); });
    input_report.replaced_images += batch.replaced;
    if (options.faults.sleep_rank == rank) {
      enter(Phase::forward);
      pause(options.faults.sleep_seconds);
    }
    const int workers = sync->workers().count;
    const double rate = learning_rate(options.rate, workers, step, sampler.steps_per_epoch());
    if (step_graph != nullptr) {
      losses.add(replay(batch, rate), step);
    } else {
      ModelPass* const own = sync->own_pass();
      const Done done = work(own != nullptr ? *own : network_pass, batch, rate);
      losses.add(done.loss, step);
      loss_scale.after(done.updated);
    }
    ++steps_done;
    enter(Phase::other);
    pace.host();
  }

  struct Done {
    torch::Tensor loss;
    bool updated = true;
  };

  /// What a step is once its batch is there.
  Done work(ModelPass& pass, const Batch& batch, double rate) {
    const auto enter_unless_recorded = [this](Phase phase) {
      if (step_graph == nullptr) enter(phase);
    };
    const double scale = loss_scale.scale();
    const torch::Tensor loss = pass.run(batch.images, batch.labels, scale);
    enter_unless_recorded(Phase::sync);
    sync->synchronise();
    enter_unless_recorded(Phase::update);
    return {loss, sync->update(rate, scale)};
  }

  /// The same by the graph, which has no phases: all of it counts as forward.
  torch::Tensor replay(const Batch& batch, double rate) {
    enter(Phase::forward);
    if (!sync->set_rate(rate)) {
      fail<UsageError>("--step graph: needs parameters that are float32 without gaps");
    }
    rate_of_graph = rate;
    return step_graph->run(batch.images, batch.labels);
  }

  /// For injected faults.
  static void pause(double seconds) {
    if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }

  void enter(Phase phase) {
    if (options.exact_phases) finish(device);
    trace.enter(phase);
  }

  void equalise_buffers() {
    // What has a pass of its own publishes buffers with the parameters.
    if (sync_info.equal_replicas && sync->own_pass() == nullptr)
      broadcast_buffers(*network, control);
  }

  void require_one_model() const {
    if (sync_info.name == "none" && ranks > 1) {
      fail<UsageError>(
          "gradient sync none trains a model of its own on each of {} ranks: no common "
          "checkpoint",
          ranks);
    }
  }

  Description description() const {
    return description_of(options, ranks, sync->workers().count, training->name());
  }

  const int ranks;
  const int rank;
  Communicator& control;
  DelayedTrace delayed;
  ProfiledTrace trace;
  const GradientSyncInfo& sync_info;
  const ModelChoice choice;
  const StepPace pace;
  const torch::Device device;
  const std::shared_ptr<Network> network;
  const std::unique_ptr<GradientSync> sync;
  const TrainerOptions options;
  const std::unique_ptr<ImageSource> training;
  const std::unique_ptr<ImageSource> test;
  const Sampler sampler;
  TrainingLosses losses;
  LossScale loss_scale;
  std::int64_t steps_done = 0;
  NetworkPass network_pass;
  std::unique_ptr<StepGraph> step_graph;
  double rate_of_graph = 0;  // of the step at hand, while it is not replayed
  InputReport input_report;
  bool files_are_warm = false;
  /// Of train_step: steps done, and the batches of the epoch they are in.
  std::int64_t free_steps = 0;
  std::unique_ptr<BatchStream> free_batches;
};

}  // namespace scalebench
