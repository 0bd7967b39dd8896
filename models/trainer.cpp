// SPDX-License-Identifier: Apache-2.0
// What a Trainer is made of, its step (load, forward, backward, sync, update), and the training
// loop around it.
#include "models/trainer.hpp"

#include <torch/types.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <numeric>
#include <span>

#include "collectives/control.hpp"
#include "kernels/error.hpp"
#include "models/data/batch_stream.hpp"
#include "models/data/image_source.hpp"
#include "models/data/sampler.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/gradients/pass.hpp"
#include "models/gradients/replica.hpp"
#include "models/network/loss.hpp"
#include "models/network/network.hpp"
#include "models/step/loss_scale.hpp"
#include "models/step/step_trace.hpp"
#include "models/torch/compute.hpp"
#include "models/torch/device.hpp"

namespace scalebench {
namespace {

/// `work`, its lack of memory being an OutOfMemory.
template <class Work>
auto guarded(Work work) {
  try {
    return work();
  } catch (const std::exception&) {
    rethrow_memory_error();
  }
}

/// What a network makes of images that it does not train on.
struct Tally {
  double correct = 0;  // images that are classified correctly
  double loss = 0;     // summed over images
};

/// Images of a forward pass: bounds the memory for activations.
std::int64_t batch_for(const ImageShape& shape) {
  constexpr std::int64_t kMost = 500, kPixels = std::int64_t{4} << 20U;
  return std::clamp<std::int64_t>(kPixels / shape.pixels(), 1, kMost);
}

/// Of the images [first, end) of `test`, in evaluation mode; the network trains again afterwards.
Tally tally_of(Network& network, const ImageSource& test, std::int64_t first, std::int64_t end,
               const TrainerOptions& options, torch::Device device) {
  const torch::NoGradGuard no_grad;
  network.eval();
  auto hits = torch::zeros({}, torch::TensorOptions(torch::kInt64).device(device));
  auto loss = torch::zeros({}, torch::TensorOptions(torch::kFloat64).device(device));
  std::vector<std::int64_t> order(static_cast<std::size_t>(end - first));
  std::iota(order.begin(), order.end(), first);
  // Sets in memory are on the device already.
  const int threads = test.reads_files() ? options.loader_threads : 0;
  const std::int64_t length = batch_for(options.choice.shape);
  BatchStream batches(
      test, order, device,
      {.batch = length, .loader_threads = threads, .channels_last = options.channels_last});
  Tally tally;
  for (; first < end; first += length) {
    const Batch batch = batches.next();
    const AutocastScope scope(options.precision, device);
    const auto outputs = network.forward(batch.images);
    hits += outputs.argmax(1).eq(batch.labels).sum();
    loss += loss_of(options.choice.loss, outputs, batch.labels) *
            static_cast<double>(batch.labels.size(0));
  }
  network.train();
  tally.correct = static_cast<double>(hits.item<std::int64_t>());
  tally.loss = loss.item<double>();
  return tally;
}

}  // namespace

struct Trainer::State {
  State(const TrainerOptions& given, Communicator& gradients, Communicator& control_ranks,
        StepTrace& step_trace)
      : ranks(gradients.size()),
        rank(gradients.rank()),
        control(control_ranks),
        trace(step_trace, given.faults.delay_collective_seconds),
        sync_info(gradient_sync_named(given.gradient_sync)),
        choice(choose_model(given.model, given.module)),
        device(device_for(given)),
        network(network_on(device, choice, given)),
        sync(make_sync(given, gradients)),
        options(resolved(given, sync->workers().count * given.share_of)),
        // Loader threads work beside the device, so their images stay with the CPU.
        training(images_of(Split::train, options.loader_threads > 0 ? torch::kCPU : device)),
        test(images_of(Split::test, device)),
        sampler({training->count(), options.samples_per_epoch, options.batch,
                 sync->workers().count * options.share_of, std::max(0, sync->workers().index),
                 options.seed,
                 options.epoch_rule == EpochRule::seed
                     ? seed_steps_per_epoch(options.model, sync->workers().count * options.share_of)
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
    check_choices();
    if (is_recorded(options.step, device.is_cuda())) {
      step_graph = make_step_graph({[this](const std::vector<torch::Tensor>& inputs) {
                                      const Batch batch = inputs.size() == 1
                                                              ? batch_of(*training, inputs[0], 0,
                                                                         options.channels_last)
                                                              : Batch{inputs[0], inputs[1]};
                                      return work(network_pass, batch, rate_of_graph).loss;
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
    if (is_recorded(given.step, device.is_cuda())) begin_step_graphs(device);
    return device;
  }

  static std::shared_ptr<Network> network_on(torch::Device device, const ModelChoice& choice,
                                             const TrainerOptions& given) {
    auto network = make_network(choice, given.seed);
    if (given.step == StepKind::fused && !network->fuse()) {
      throw UsageError(why_not_fused(choice));
    }
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
                       choice.loss == Loss::cross_entropy && !options.channels_last;
    if (sync->own_pass() != nullptr && !usual) {
      fail<UsageError>("gradient sync {} has a pass of its own: float32, contiguous, cross_entropy",
                       options.gradient_sync);
    }
  }

  std::unique_ptr<ImageSource> images_of(Split split, torch::Device where) const {
    const auto type = options.precision == Precision::bfloat16 ? torch::kBFloat16 : torch::kFloat32;
    const OnePass fused{type, where.is_cuda() ? network->image_layout() : ImageLayout::plain};
    return open_image_source(options.dataset, split, options.choice.shape, options.seed, where,
                             options.step == StepKind::fused ? std::optional(fused) : std::nullopt);
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
                           {shape.channels, shape.height, shape.width}});
  }

  bool sees_images() const { return sync->workers().index >= 0; }

  /// This rank's batches of one epoch.
  std::unique_ptr<BatchStream> batches_of(int epoch) const {
    return std::make_unique<BatchStream>(
        *training, sampler.epoch(epoch), device,
        BatchStreamOptions{options.batch, epoch, options.loader_threads,
                           options.faults.throttle_input_seconds, options.channels_last,
                           /*by_index=*/step_graph != nullptr});
  }

  /// `batches` are those of the epoch which `step`, counted over all epochs, belongs to.
  void step(BatchStream& batches, std::int64_t step) {
    trace.begin_step();
    enter(Phase::load);
    const Batch batch = batches.next();
    if (options.faults.sleep_rank == rank) {
      enter(Phase::forward);
      compute_longer(options.faults.sleep_seconds);
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
      fail<UsageError>("a step graph needs parameters that are float32 without gaps");
    }
    rate_of_graph = rate;
    if (batch.indices.defined()) return step_graph->run({batch.indices});
    return step_graph->run({batch.images, batch.labels});
  }

  /// For an injected fault. Busy, since a core that slept takes longer for what follows, too: on a
  /// virtual machine up to 0.7 ms a step.
  static void compute_longer(double seconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < until) {
    }
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
    if (trains_one_model(sync_info.name, ranks)) return;
    fail<UsageError>(
        "gradient sync {} trains a model of its own on each of {} ranks: no common checkpoint",
        sync_info.name, ranks);
  }

  Description description() const {
    return description_of(options, ranks, sync->workers().count, training->id());
  }

  const int ranks;
  const int rank;
  Communicator& control;
  ProfiledTrace trace;
  const GradientSyncInfo& sync_info;
  const ModelChoice choice;
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
  /// Of train_step: steps done, and the batches of the epoch they are in.
  std::int64_t free_steps = 0;
  std::unique_ptr<BatchStream> free_batches;
};

Trainer::Trainer(const TrainerOptions& options, Communicator& gradients, Communicator& control,
                 StepTrace& trace)
    : state_(guarded([&] { return std::make_unique<State>(options, gradients, control, trace); })) {
}

Trainer::~Trainer() = default;

const TrainerOptions& Trainer::options() const { return state_->options; }

std::int64_t Trainer::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& parameter : state_->network->parameters()) count += parameter.numel();
  return count;
}

double Trainer::forward_flops() {
  const ImageShape& shape = state_->choice.shape;
  return guarded([&] {
    // A device would try every kernel for these shapes first.
    const auto network = state_->device.is_cuda()
                             ? make_network(state_->choice, state_->options.seed)
                             : state_->network;
    double flops = 0;
    for (const LayerCost& layer :
         layer_costs(*network, {shape.channels, shape.height, shape.width})) {
      flops += layer.flops;
    }
    return flops;
  });
}

int Trainer::workers() const { return state_->sync->workers().count; }

std::int64_t Trainer::steps_per_epoch() const { return state_->sampler.steps_per_epoch(); }

std::int64_t Trainer::training_images() const { return state_->training->count(); }

const std::string& Trainer::dataset_name() const { return state_->training->name(); }

const std::string& Trainer::dataset_id() const { return state_->training->id(); }

EpochResult Trainer::train_epoch(int epoch) {
  State& state = *state_;
  const std::int64_t steps = steps_per_epoch();
  EpochResult result{steps, 0, std::numeric_limits<double>::quiet_NaN()};
  if (state.sees_images()) {
    state.enter(Phase::load);
    const auto batches = state.batches_of(epoch);
    guarded([&] {
      for (std::int64_t step = 0; step < steps; ++step) state.step(*batches, epoch * steps + step);
    });
    if (state.sync->counts_images()) result.samples = state.sampler.samples_per_epoch();
    result.loss = state.losses.take_mean();
  } else {
    state.sync->serve(steps);
  }
  state.enter(Phase::evaluate);
  state.equalise_buffers();
  state.enter(Phase::other);
  return result;
}

void Trainer::train_step() {
  State& state = *state_;
  if (!state.sees_images()) return state.sync->serve(1);
  if (state.free_steps % steps_per_epoch() == 0) {
    state.enter(Phase::load);
    state.free_batches = state.batches_of(static_cast<int>(state.free_steps / steps_per_epoch()));
  }
  guarded([&] { state.step(*state.free_batches, state.free_steps++); });
}

std::vector<TracedLayer> Trainer::layers() const { return traced_layers(*state_->network); }
void Trainer::trace_layers(LayerTrace* trace) { state_->network_pass.trace_layers(trace); }

Evaluation Trainer::evaluate() {
  State& state = *state_;
  state.enter(Phase::evaluate);
  state.sync->publish();
  state.equalise_buffers();
  const std::int64_t count = state.test->count();
  const Tally tally = guarded([&] {
    return tally_of(*state.network, *state.test, count * state.rank / state.ranks,
                    count * (state.rank + 1) / state.ranks, state.options, state.device);
  });
  const std::array mine{tally.correct, tally.loss};
  const auto all = all_gather(state.control, std::span<const double>(mine));
  Evaluation mean;
  for (std::size_t i = 0; i < all.size(); i += mine.size()) {
    mean.accuracy += all[i];
    mean.loss += all[i + 1];
  }
  mean.accuracy /= static_cast<double>(count);
  mean.loss /= static_cast<double>(count);
  state.enter(Phase::other);
  return mean;
}

std::string Trainer::checkpoint(int epochs, double seconds) {
  State& state = *state_;
  state.require_one_model();
  state.enter(Phase::evaluate);
  state.sync->publish();
  Checkpoint checkpoint = captured(*state.network, *state.sync, state.control);
  checkpoint.progress = {epochs, epochs * steps_per_epoch(), seconds};
  checkpoint.loss_scale = state.loss_scale.state();
  checkpoint.training = state.description();
  std::string bytes = state.rank == 0 ? bytes_of(checkpoint) : std::string();
  state.enter(Phase::other);
  return bytes;
}

TrainingProgress Trainer::restore(const std::string& bytes) {
  State& state = *state_;
  state.require_one_model();
  std::string same = bytes;
  same.resize(
      static_cast<std::size_t>(all_gather(state.control, static_cast<double>(bytes.size()))[0]));
  broadcast_bytes(state.control, std::as_writable_bytes(std::span(same)), 0);
  const Checkpoint checkpoint = checkpoint_from(same);
  const std::string differs = difference(checkpoint, state.description());
  if (!differs.empty()) fail<UsageError>("the checkpoint is of another training: {}", differs);
  take_over(checkpoint, *state.network, *state.sync, state.rank);
  state.loss_scale.restore(checkpoint.loss_scale);
  return checkpoint.progress;
}

bool Trainer::replicas_equal() {
  state_->sync->publish();
  state_->equalise_buffers();
  return scalebench::replicas_equal(*state_->network, state_->control);
}

std::string Trainer::failure() const {
  if (!state_->losses.failure().empty()) return state_->losses.failure();
  if (state_->loss_scale.sane()) return {};
  return fmt::format("rank {}: gradients overflow in fp16 whatever the loss scale; try bfloat16",
                     state_->rank);
}

std::string Trainer::remarks() const {
  std::string remarks = state_->sync->remarks();
  if (state_->loss_scale.skipped() > 0) {
    remarks += fmt::format("{}{} of {} steps skipped by loss scaling, now at {:g}",
                           remarks.empty() ? "" : "; ", state_->loss_scale.skipped(),
                           state_->steps_done, state_->loss_scale.scale());
  }
  return remarks;
}

}  // namespace scalebench
