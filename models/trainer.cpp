// SPDX-License-Identifier: Apache-2.0
// The training loop. A step is: load, forward, backward, sync, update; see State::step.
#include "models/trainer.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <numeric>

#include "collectives/control.hpp"
#include "kernels/error.hpp"
#include "models/compute_device.hpp"
#include "models/gradient_sync.hpp"
#include "models/image_store.hpp"
#include "models/losses.hpp"
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
  State(const TrainerOptions& given, Communicator& gradients, Communicator& control_ranks)
      : options(resolved(given, gradients.size())),
        ranks(gradients.size()),
        rank(gradients.rank()),
        control(control_ranks),
        sync_info(gradient_sync_named(options.gradient_sync)),
        device(select_compute_device(options.device, options.device_index, options.threads)),
        network(make_network(options.model, options.seed)),
        training(load(Split::train)),
        test(load(Split::test)),
        sampler({training.count(), options.samples_per_epoch, options.batch, ranks, rank,
                 options.seed}),
        losses(rank) {
    if (control.size() != ranks || control.rank() != rank) {
      fail("rank {} of {} for gradients is rank {} of {} for control", rank, ranks, control.rank(),
           control.size());
    }
    network->to(device);
    network->seed_dropout(
        SplitMix(SplitMix(options.seed).next() + static_cast<std::uint64_t>(rank)).next());
    sync = sync_info.make({network->parameters(), gradients, options.allreduce});
    optimizer = make_optimizer(options.optimizer, network->parameters());
  }

  ImageStore load(Split split) const {
    const ImageShape& shape = model_named(options.model).shape;
    return {load_dataset(options.dataset, split, shape, options.seed), shape, device};
  }

  /// This rank's indices of one epoch, on the device.
  torch::Tensor order_of(int epoch) const {
    std::vector<std::int64_t> order = sampler.epoch(epoch);
    return torch::from_blob(order.data(), {static_cast<std::int64_t>(order.size())}, torch::kInt64)
        .to(device, /*non_blocking=*/false, /*copy=*/true);
  }

  /// `order` is that of the epoch which `step`, counted over all epochs, belongs to.
  void step(const torch::Tensor& order, std::int64_t step, PhaseListener& listener) {
    enter(Phase::load, listener);
    const std::int64_t first = step % sampler.steps_per_epoch() * options.batch;
    const auto batch = training.at(order.narrow(0, first, options.batch));
    enter(Phase::forward, listener);
    const auto logits = network->forward(batch.images);
    const auto loss = torch::nn::functional::cross_entropy(logits, batch.labels);
    losses.add(loss, step);
    enter(Phase::backward, listener);
    sync->begin_step();
    loss.backward();
    enter(Phase::sync, listener);
    sync->synchronise();
    enter(Phase::update, listener);
    optimizer->step(learning_rate(options.rate, ranks, step, sampler.steps_per_epoch()));
    enter(Phase::other, listener);
  }

  void enter(Phase phase, PhaseListener& listener) const {
    if (options.exact_phases) finish(device);
    listener.enter(phase);
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

  const TrainerOptions options;
  const int ranks;
  const int rank;
  Communicator& control;
  const GradientSyncInfo& sync_info;
  const torch::Device device;
  const std::shared_ptr<Network> network;
  const ImageStore training;
  const ImageStore test;
  const Sampler sampler;
  Losses losses;
  std::unique_ptr<GradientSync> sync;
  std::unique_ptr<Optimizer> optimizer;
  /// Of train_step: steps done, and the order of the epoch they are in.
  std::int64_t free_steps = 0;
  torch::Tensor free_order;
};

Trainer::Trainer(const TrainerOptions& options, Communicator& gradients, Communicator& control)
    : state_(std::make_unique<State>(options, gradients, control)) {}

Trainer::~Trainer() = default;

const TrainerOptions& Trainer::options() const { return state_->options; }

std::int64_t Trainer::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& parameter : state_->network->parameters()) count += parameter.numel();
  return count;
}

std::int64_t Trainer::steps_per_epoch() const { return state_->sampler.steps_per_epoch(); }

std::int64_t Trainer::training_images() const { return state_->training.count(); }

const std::string& Trainer::dataset_name() const { return state_->training.name(); }

EpochResult Trainer::train_epoch(int epoch, PhaseListener& listener) {
  State& state = *state_;
  const std::int64_t steps = steps_per_epoch();
  state.enter(Phase::load, listener);
  const torch::Tensor order = state.order_of(epoch);
  for (std::int64_t step = 0; step < steps; ++step) {
    state.step(order, epoch * steps + step, listener);
  }
  state.enter(Phase::sync, listener);
  state.equalise_buffers();
  state.enter(Phase::other, listener);
  return {steps, state.sampler.samples_per_epoch(), state.losses.take_mean()};
}

void Trainer::train_step(PhaseListener& listener) {
  State& state = *state_;
  if (state.free_steps % steps_per_epoch() == 0) {
    state.enter(Phase::load, listener);
    state.free_order = state.order_of(static_cast<int>(state.free_steps / steps_per_epoch()));
  }
  state.step(state.free_order, state.free_steps++, listener);
}

double Trainer::evaluate(PhaseListener& listener) {
  State& state = *state_;
  state.enter(Phase::evaluate, listener);
  state.equalise_buffers();
  const std::int64_t count = state.test.count();
  const std::int64_t correct =
      state.correct(count * state.rank / state.ranks, count * (state.rank + 1) / state.ranks);
  const auto all = all_gather(state.control, static_cast<double>(correct));
  state.enter(Phase::other, listener);
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(count);
}

bool Trainer::replicas_equal() {
  return scalebench::replicas_equal(*state_->network, state_->control);
}

}  // namespace scalebench
