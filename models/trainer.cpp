// SPDX-License-Identifier: Apache-2.0
// The training loop. A step is: load, forward, backward, sync, update; see State::step.
#include "models/trainer.hpp"

#include <torch/types.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <numeric>
#include <span>
#include <thread>
#include <utility>

#include "collectives/control.hpp"
#include "kernels/error.hpp"
#include "models/autocast.hpp"
#include "models/batch_stream.hpp"
#include "models/compute_device.hpp"
#include "models/delayed_trace.hpp"
#include "models/gradient_sync.hpp"
#include "models/image_source.hpp"
#include "models/input_files.hpp"
#include "models/loss_scale.hpp"
#include "models/losses.hpp"
#include "models/model_pass.hpp"
#include "models/network.hpp"
#include "models/optimizer.hpp"
#include "models/profiled_trace.hpp"
#include "models/replicas.hpp"
#include "models/sampler.hpp"
#include "models/split_mix.hpp"
#include "models/step_graph.hpp"
#include "models/step_pace.hpp"
#include "models/tally.hpp"
#include "models/torch_error.hpp"
#include "models/training_description.hpp"
#include "models/training_state.hpp"

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
        training(open_image_source(options, Split::train,
                                   options.loader_threads > 0 ? torch::kCPU : device)),
        test(open_image_source(options, Split::test, device)),
        sampler({training->count(), options.samples_per_epoch, options.batch,
                 sync->workers().count * options.share_of, std::max(0, sync->workers().index),
                 options.seed,
                 options.epoch_rule == EpochRule::seed
                     ? seed_steps_per_epoch(options.model, sync->workers().count)
                     : 0}),
        losses(rank),
        loss_scale(options.precision),
        network_pass(*network, *sync, options, [this](Phase phase) {
          if (step_graph == nullptr) enter(phase);
        }) {
    if (control.size() != ranks || control.rank() != rank) {
      fail("rank {} of {} for gradients is rank {} of {} for control", rank, ranks, control.rank(),
           control.size());
    }
    if (options.page_cache != PageCache::as_is && training->files() == 0) {
      fail<UsageError>(
          "page cache {}: {} is in memory while it trains; only the files of JPEG folders are read "
          "then",
          options.page_cache == PageCache::cold ? "cold" : "warm", training->name());
    }
    check_choices();
    if (options.step_graph) {
      step_graph = make_step_graph(network_pass, [this](Phase phase) { enter(phase); });
    }
    network->seed_dropout(
        SplitMix(SplitMix(options.seed).next() + static_cast<std::uint64_t>(rank)).next());
  }

  static torch::Device device_for(const TrainerOptions& given) {
    const auto device = select_compute_device(given.device, given.device_index, given.threads);
    if (!given.release_memory) keep_freed_memory();
    require_precision(given.precision, device);
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
        BatchStreamOptions{options.batch, epoch, options.loader_threads,
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
    const double scale = loss_scale.scale();
    losses.add(pass().run(batch.images, batch.labels, scale), step);
    enter(Phase::sync);
    sync->synchronise();
    enter(Phase::update);
    const int workers = sync->workers().count;
    const double rate = learning_rate(options.rate, workers, step, sampler.steps_per_epoch());
    loss_scale.after(sync->update(rate, scale));
    ++steps_done;
    enter(Phase::other);
    pace.host();
  }

  ModelPass& pass() {
    ModelPass* const own = sync->own_pass();
    if (own != nullptr) return *own;
    return step_graph != nullptr ? *step_graph : network_pass;
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
  Losses losses;
  LossScale loss_scale;
  std::int64_t steps_done = 0;
  NetworkPass network_pass;
  std::unique_ptr<ModelPass> step_graph;
  InputReport input_report;
  bool files_are_warm = false;
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
  const PageCache wanted = state.options.page_cache;
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
