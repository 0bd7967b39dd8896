// SPDX-License-Identifier: Apache-2.0
// The training loop around State::step.
#include "models/trainer.hpp"

#include <torch/types.h>

#include <array>
#include <limits>
#include <span>
#include <utility>

#include "collectives/control.hpp"
#include "kernels/error.hpp"
#include "models/checkpoint.hpp"
#include "models/data/image_source.hpp"
#include "models/network/network.hpp"
#include "models/torch/error.hpp"
#include "models/trainer_state.hpp"

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

}  // namespace

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
    return scalebench::forward_flops(*state_->network, {shape.channels, shape.height, shape.width});
  });
}

int Trainer::workers() const { return state_->sync->workers().count; }

std::int64_t Trainer::steps_per_epoch() const { return state_->sampler.steps_per_epoch(); }

std::int64_t Trainer::training_images() const { return state_->training->count(); }

const std::string& Trainer::dataset_name() const { return state_->training->name(); }

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
  state.input_report.replaced_images += tally.replaced;
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
  checkpoint.training = state.description();
  const std::string bytes = state.rank == 0 ? bytes_of(checkpoint) : std::string();
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
  return checkpoint.progress;
}

bool Trainer::replicas_equal() {
  state_->sync->publish();
  state_->equalise_buffers();
  return scalebench::replicas_equal(*state_->network, state_->control);
}

double Trainer::replica_divergence() {
  return scalebench::replica_divergence(*state_->network, state_->control, state_->sees_images());
}

bool Trainer::reads_files() const { return state_->training->files() > 0; }

std::optional<Residency> Trainer::prepare_input() {
  State& state = *state_;
  if (!reads_files()) return std::nullopt;
  const PageCache wanted = state.options.data.page_cache;
  const bool done = wanted == PageCache::warm && std::exchange(state.files_are_warm, true);
  return prepare_files(*state.training, done ? PageCache::as_is : wanted, state.control);
}

InputReport Trainer::take_input_report() {
  State& state = *state_;
  InputReport report = std::exchange(state.input_report, {});
  for (const auto& source : {state.training.get(), state.test.get()}) {
    for (std::string& line : source->take_warnings()) report.warnings.push_back(std::move(line));
  }
  return report;
}

std::string Trainer::failure() const {
  if (!state_->losses.failure().empty()) return state_->losses.failure();
  if (state_->loss_scale.sane()) return {};
  return fmt::format("rank {}: gradients overflow in fp16 whatever the loss scale; try bf16",
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
