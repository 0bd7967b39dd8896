// SPDX-License-Identifier: Apache-2.0
// The training loop. A step is: load, forward, backward, sync, update; see State::step.
#include "models/trainer.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <thread>

#include "collectives/control.hpp"
#include "kernels/error.hpp"
#include "models/compute_device.hpp"
#include "models/delayed_trace.hpp"
#include "models/gradient_sync.hpp"
#include "models/image_store.hpp"
#include "models/losses.hpp"
#include "models/model_pass.hpp"
#include "models/network.hpp"
#include "models/optimizer.hpp"
#include "models/replicas.hpp"
#include "models/sampler.hpp"
#include "models/split_mix.hpp"

namespace scalebench {
namespace {

/// Images a forward pass takes while evaluating: bounds the memory for activations.
constexpr std::int64_t kEvaluationBatch = 500;

}  // namespace

struct Trainer::State {
  State(const TrainerOptions& given, Communicator& gradients, Communicator& control_ranks,
        StepTrace& step_trace)
      : ranks(gradients.size()),
        rank(gradients.rank()),
        control(control_ranks),
        delayed(step_trace, given.faults.delay_collective_seconds),
        trace(given.faults.delay_collective_seconds > 0 ? delayed : step_trace),
        sync_info(gradient_sync_named(given.gradient_sync)),
        device(select_compute_device(given.device, given.device_index, given.threads)),
        network(network_on(device, given.model, given.seed)),
        sync(make_sync(given, gradients)),
        options(resolved(given, sync->workers().count * given.share_of)),
        training(load(Split::train)),
        test(load(Split::test)),
        sampler({training.count(), options.samples_per_epoch, options.batch,
                 sync->workers().count * options.share_of, std::max(0, sync->workers().index),
                 options.seed}),
        losses(rank),
        network_pass(*network, *sync, options, [this](Phase phase) { enter(phase); }) {
    if (control.size() != ranks || control.rank() != rank) {
      fail("rank {} of {} for gradients is rank {} of {} for control", rank, ranks, control.rank(),
           control.size());
    }
    network->seed_dropout(
        SplitMix(SplitMix(options.seed).next() + static_cast<std::uint64_t>(rank)).next());
  }

  static std::shared_ptr<Network> network_on(torch::Device device, std::string_view model,
                                             std::uint64_t seed) {
    auto network = make_network(model, seed);
    network->to(device);
    return network;
  }

  std::unique_ptr<GradientSync> make_sync(const TrainerOptions& given,
                                          Communicator& gradients) const {
    const std::string optimizer =
        given.optimizer.empty() ? std::string(model_named(given.model).optimizer) : given.optimizer;
    return sync_info.make({network->parameters(), gradients, given.allreduce, optimizer, trace,
                           given.sync, network.get()});
  }

  ImageStore load(Split split) const {
    const ImageShape& shape = model_named(options.model).shape;
    return {load_dataset(options.dataset, split, shape, options.seed), shape, device};
  }

  bool sees_images() const { return sync->workers().index >= 0; }

  /// This rank's indices of one epoch, on the device.
  torch::Tensor order_of(int epoch) const {
    std::vector<std::int64_t> order = sampler.epoch(epoch);
    return torch::from_blob(order.data(), {static_cast<std::int64_t>(order.size())}, torch::kInt64)
        .to(device, /*non_blocking=*/false, /*copy=*/true);
  }

  /// `order` is that of the epoch which `step`, counted over all epochs, belongs to.
  void step(const torch::Tensor& order, std::int64_t step) {
    trace.begin_step();
    enter(Phase::load);
    const std::int64_t first = step % sampler.steps_per_epoch() * options.batch;
    const auto batch = training.at(order.narrow(0, first, options.batch));
    pause(options.faults.throttle_input_seconds);
    if (options.faults.sleep_rank == rank) {
      enter(Phase::forward);
      pause(options.faults.sleep_seconds);
    }
    ModelPass* const own = sync->own_pass();
    ModelPass& pass = own != nullptr ? *own : network_pass;
    losses.add(pass.run(batch.images, batch.labels, 1), step);
    enter(Phase::sync);
    sync->synchronise();
    enter(Phase::update);
    const int workers = sync->workers().count;
    sync->update(learning_rate(options.rate, workers, step, sampler.steps_per_epoch()), 1);
    enter(Phase::other);
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
    if (sync_info.equal_replicas) broadcast_buffers(*network, control);
  }

  /// Correctly classified images among [first, end) of the test set.
  std::int64_t correct(std::int64_t first, std::int64_t end) {
    torch::NoGradGuard no_grad;
    network->eval();
    auto hits = torch::zeros({}, torch::TensorOptions(torch::kInt64).device(device));
    for (; first < end; first += kEvaluationBatch) {
      const auto batch = test.range(first, std::min(kEvaluationBatch, end - first));
      hits += network->forward(batch.images).argmax(1).eq(batch.labels).sum();
    }
    network->train();
    return hits.item<std::int64_t>();
  }

  const int ranks;
  const int rank;
  Communicator& control;
  DelayedTrace delayed;
  StepTrace& trace;
  const GradientSyncInfo& sync_info;
  const torch::Device device;
  const std::shared_ptr<Network> network;
  const std::unique_ptr<GradientSync> sync;
  const TrainerOptions options;
  const ImageStore training;
  const ImageStore test;
  const Sampler sampler;
  Losses losses;
  NetworkPass network_pass;
  /// Of train_step: steps done, and the order of the epoch they are in.
  std::int64_t free_steps = 0;
  torch::Tensor free_order;
};

Trainer::Trainer(const TrainerOptions& options, Communicator& gradients, Communicator& control,
                 StepTrace& trace)
    : state_(std::make_unique<State>(options, gradients, control, trace)) {}

Trainer::~Trainer() = default;

const TrainerOptions& Trainer::options() const { return state_->options; }

std::int64_t Trainer::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& parameter : state_->network->parameters()) count += parameter.numel();
  return count;
}

int Trainer::workers() const { return state_->sync->workers().count; }

std::int64_t Trainer::steps_per_epoch() const { return state_->sampler.steps_per_epoch(); }

std::int64_t Trainer::training_images() const { return state_->training.count(); }

const std::string& Trainer::dataset_name() const { return state_->training.name(); }

EpochResult Trainer::train_epoch(int epoch) {
  State& state = *state_;
  const std::int64_t steps = steps_per_epoch();
  EpochResult result{steps, 0, std::numeric_limits<double>::quiet_NaN()};
  if (state.sees_images()) {
    state.enter(Phase::load);
    const torch::Tensor order = state.order_of(epoch);
    for (std::int64_t step = 0; step < steps; ++step) state.step(order, epoch * steps + step);
    result.samples = state.sampler.samples_per_epoch();
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
    state.free_order = state.order_of(static_cast<int>(state.free_steps / steps_per_epoch()));
  }
  state.step(state.free_order, state.free_steps++);
}

double Trainer::evaluate() {
  State& state = *state_;
  state.enter(Phase::evaluate);
  state.sync->publish();
  state.equalise_buffers();
  const std::int64_t count = state.test.count();
  const std::int64_t correct =
      state.correct(count * state.rank / state.ranks, count * (state.rank + 1) / state.ranks);
  const auto all = all_gather(state.control, static_cast<double>(correct));
  state.enter(Phase::other);
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(count);
}

bool Trainer::replicas_equal() {
  state_->sync->publish();
  state_->equalise_buffers();
  return scalebench::replicas_equal(*state_->network, state_->control);
}

std::string Trainer::remarks() const { return state_->sync->remarks(); }

}  // namespace scalebench
