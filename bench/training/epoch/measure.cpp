// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "bench/allreduce/tuning.hpp"
#include "bench/measure/clock_sync.hpp"
#include "bench/program/devices.hpp"
#include "bench/program/fault.hpp"
#include "bench/program/own_turn.hpp"
#include "bench/program/watchdog/watchdog.hpp"
#include "bench/training/epoch/checkpoints.hpp"
#include "bench/training/epoch/energy.hpp"
#include "bench/training/epoch/watch.hpp"
#include "collectives/carries.hpp"
#include "collectives/control.hpp"
#include "kernels/error.hpp"
#include "models/gradients/gradient_sync.hpp"
#include "models/network/models.hpp"
#include "models/trainer.hpp"

namespace scalebench {
namespace {

/// The first steps build LibTorch's kernels and memory pools: a model of their own pays for that,
/// so that the measured one starts from its first weights. Returns what one of the later steps
/// took, at most and on any rank; 0: unknown.
double warm_up(const TrainerOptions& options, Communicator& gradients, const Ranks& ranks,
               int steps, EpochRun& run) {
  if (steps == 0) return 0;
  ProgressMarks& progress = ranks.progress;
  NoTrace trace;
  progress.work("building the model");
  Trainer trainer(options, gradients, ranks.host, trace);
  run.parameters = trainer.parameter_count();
  double step_seconds = 0;
  const auto step = [&] {
    const double begin = local_seconds();
    trainer.train_step();
    step_seconds = local_seconds() - begin;
  };
  progress.work("first step");  // nobody knows yet how long one takes
  step();
  progress.cell("warm-up steps");
  progress.expect(step_seconds);
  for (int i = 1; i < steps; ++i) {
    progress.enter();
    step();
    progress.leave();
  }
  const std::vector<double> all = all_gather(ranks.host, step_seconds);
  progress.end_cell();
  return std::ranges::max(all);
}

/// Of those that are numbers: a rank without images has no loss.
double mean(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// This host's clock, with the drift that was asked for; ranks of a host share it. Throws
/// UsageError where all ranks share one.
HostClock clock_of(const Ranks& ranks, const Injections& injections) {
  HostClock clock;
  const Injection* const drift = injections.find(Injected::drift);
  if (drift == nullptr) return clock;
  const Topology topology = ranks.host.topology();
  if (topology.nodes() < 2) {
    fail<UsageError>(
        "--inject {}: all ranks are on one host and share its clock; give two hosts or more",
        drift->text);
  }
  const auto host_of = [&](int rank) {
    return topology.node_of_rank.at(static_cast<std::size_t>(rank));
  };
  if (host_of(drift->rank) == host_of(ranks.host.rank())) clock.drift(1e-6 * drift->amount);
  return clock;
}

/// Who follows the measured steps: the watchdog, a fault at a step, and the log of what
/// happens when, by a clock that may have faults too.
class Followers {
 public:
  /// `step_seconds`: what a step takes, at most and on any rank; 0: unknown.
  Followers(const Ranks& ranks, const Injections& injections, double step_seconds)
      : rank_(ranks.session.rank()),
        fault_(injections),
        step_seconds_(step_seconds),
        marks_(ranks.progress, step_seconds),
        clock_(clock_of(ranks, injections)),
        log_([this] { begin_step(); }, clock_) {}

  /// The training goes from step `first` to `last`, exclusive. Throws JointRefusal for a fault that
  /// would never come; a training that resumes is not hit again.
  void begin(std::int64_t first, std::int64_t last) {
    fault_.require_reached(static_cast<std::size_t>(last - 1));
    if (first > 0) fault_ = MomentFault();
  }
  void begin_epoch(int epoch) {
    marks_.begin(fmt::format("epoch {}", epoch));
    log_.restart();
  }
  RankTrace end_epoch() {
    RankTrace trace = log_.read();
    marks_.end();
    return trace;
  }

  EventLog& log() { return log_; }
  const HostClock& clock() const { return clock_; }
  double step_seconds() const { return step_seconds_; }

 private:
  void begin_step() {
    marks_.step();
    if (fault_.strikes(steps_++, rank_)) fault_.strike();
  }

  const int rank_;
  MomentFault fault_;
  std::size_t steps_ = 0;  // begun
  const double step_seconds_;
  StepMarks marks_;
  const HostClock clock_;
  EventLog log_;
};

/// Collective, after resuming: another epoch would pass for the one that reached the target.
void refuse_reached(const Ranks& ranks, const EpochOptions& options, Trainer& trainer) {
  if (options.target_accuracy == 0) return;
  ranks.progress.work("evaluating the checkpoint");
  const double accuracy = trainer.evaluate().accuracy;
  if (accuracy < options.target_accuracy) return;
  fail<UsageError>(
      "--target-accuracy {}: the checkpoint has reached it already, with {:.4f}; give a higher one",
      options.target_accuracy, accuracy);
}

class EpochTimer {
 public:
  EpochTimer(const Ranks& ranks, const RankDevices& devices, Trainer& trainer, Followers& followers)
      : ranks_(ranks), trainer_(trainer), followers_(followers), energy_(ranks.host, devices) {}

  EpochMeasurement run(int epoch, bool evaluate, bool check_replicas) {
    ProgressMarks& progress = ranks_.progress;
    wait_for_turn(ranks_);
    progress.span(fmt::format("start of epoch {}", epoch));
    const ClockModel before =
        followed(followers_.step_seconds() * static_cast<double>(trainer_.steps_per_epoch()));
    ranks_.host.barrier();  // what begins here does not hold a wait for the slowest rank
    energy_.start();
    ranks_.host.barrier();
    followers_.begin_epoch(epoch);
    const EpochResult trained = trainer_.train_epoch(epoch);
    const RankTrace trace = followers_.end_epoch();

    progress.span(fmt::format("results of epoch {}", epoch));
    ranks_.host.barrier();  // whoever asks for the time shall not wait for an answer
    const double joules = energy_.stop();
    EpochMeasurement measured{
        join_traces(ranks_.host, trace, ClockBridge(before, followed(trace.end - trace.begin)))};
    measured.joules = joules;
    for (const double samples : all_gather(ranks_.host, static_cast<double>(trained.samples))) {
      measured.samples += static_cast<std::int64_t>(samples);
    }
    measured.loss = mean(all_gather(ranks_.host, trained.loss));
    if (check_replicas) measured.replicas_equal = trainer_.replicas_equal();
    measured.test_accuracy = measured.test_loss = std::numeric_limits<double>::quiet_NaN();
    if (evaluate) {
      // An image costs less than in training; there are at most as many of them.
      const double most = measured.seconds * static_cast<double>(trainer_.training_images()) /
                          static_cast<double>(std::max<std::int64_t>(1, measured.samples));
      progress.span(fmt::format("evaluation after epoch {}", epoch));
      progress.allow(most);
      const Evaluation evaluation = trainer_.evaluate();
      measured.test_accuracy = evaluation.accuracy;
      measured.test_loss = evaluation.loss;
      progress.span(fmt::format("results of epoch {}", epoch));
    }
    return measured;
  }

 private:
  /// Collective, for an epoch of so many seconds or about: a 25th of them, so that the drift
  /// is known the better the longer it has to hold.
  ClockModel followed(double seconds) {
    constexpr double kMostSeconds = 10;
    const double span = std::clamp(seconds / 25, GlobalClock::kSpanSeconds, kMostSeconds);
    return GlobalClock(
               ranks_.host, [this] { return followers_.clock()(); }, span)
        .model();
  }

  const Ranks& ranks_;
  Trainer& trainer_;
  Followers& followers_;
  EnergyAccount energy_;
};

/// A bias, and no less than a latency.
constexpr std::size_t kSmallestBytes = 256;

/// Collective, before training with the allreduce `auto`: gives `gradients` a measured table over
/// the sizes that the model's gradients have, after a short trial. Throws Unavailable when no
/// algorithm works.
void tune_for_training(const Ranks& ranks, Communicator& gradients, const TrainerOptions& trainer) {
  if (trainer.allreduce == nullptr || !trainer.allreduce->chooses()) return;
  const DType wire = trainer.sync.wire;
  // The size of a module in a file is not known before it is loaded.
  constexpr std::int64_t kParametersOfAFile = std::int64_t{16} << 20U;
  const ModelChoice& choice = trainer.choice;
  const auto parameters = static_cast<std::size_t>(
      choice.is_file() ? kParametersOfAFile : model_named(trainer.model).parameters);
  const std::size_t bytes = std::max(parameters * size_of(wire), kSmallestBytes);
  ranks.progress.span("auto: trying the algorithms");
  ranks.progress.expect(slow_seconds(bytes, ranks.session.size()));
  const AllreduceBuffers buffers(gradients, {.largest_bytes = bytes});
  CollectiveTimer timer(ranks.host);
  AllreduceVerifier verifier(ranks.host, bytes);
  AllreduceMethod method;
  method.start = StartMode::barrier;  // also right where ranks share cores
  const AllreduceSetting setting{
      {std::string(gradients.transport()), gradients.memory(), std::nullopt}, wire, ReduceOp::sum};
  gradients.set_choices(tune({gradients, buffers, timer, verifier}, ranks.host, setting, method,
                             kSmallestBytes, bytes));
}

/// The same on every rank, before any of them reduces.
void require_carried(const Ranks& ranks, const TrainerOptions& trainer,
                     const Communicator& gradients) {
  const bool reduces = gradient_sync_named(trainer.gradient_sync).sends == Sends::allreduces;
  if (!reduces || ranks.session.size() == 1) return;
  const std::string why = why_not_carried(trainer.allreduce->name, gradients.transport(),
                                          ranks.host.topology().nodes());
  if (!why.empty()) throw JointRefusal(why);
}

void measure(const Ranks& ranks, const EpochOptions& options, Communicator& gradients,
             const std::function<void(const EpochRun&)>& after_epoch, EpochRun& run) {
  const TrainerOptions& wanted = options.training.trainer;
  require_carried(ranks, wanted, gradients);
  const Checkpointing checkpoints(ranks, options.checkpoints);
  run.transport = gradients.transport();
  tune_for_training(ranks, gradients, wanted);
  const double step_seconds = warm_up(wanted, gradients, ranks, options.warm_up_steps, run);
  Followers followers(ranks, options.injections, step_seconds);

  std::optional<ChromeTimeline> timeline;
  if (ranks.first() && !options.timeline.empty()) timeline.emplace(options.timeline, local_seconds);
  TrainerOptions measured = wanted;
  measured.sync.clock = &local_seconds;
  if (timeline) measured.sync.timeline = &*timeline;

  ranks.progress.work("building the model");
  Trainer trainer(measured, gradients, ranks.host, followers.log());
  run.trainer = trainer.options();
  run.trainer.sync = wanted.sync;  // which outlives the timeline
  run.parameters = trainer.parameter_count();
  run.dataset = trainer.dataset_name();
  run.dataset_id = trainer.dataset_id();
  run.promises_equal_replicas = gradient_sync_named(wanted.gradient_sync).equal_replicas;
  run.workers = trainer.workers();
  EpochTimer timer(ranks, options.training.placed, trainer, followers);
  const bool resumes = !options.checkpoints.resume.empty();
  if (resumes) ranks.progress.work("reading the checkpoint");
  run.earlier = checkpoints.resume(trainer);
  if (run.earlier.epochs >= options.epochs) {
    fail<UsageError>("--epochs {}: the checkpoint has {} already; give the number to end with",
                     options.epochs, run.earlier.epochs);
  }
  if (resumes) refuse_reached(ranks, options, trainer);
  followers.begin(run.earlier.epochs * trainer.steps_per_epoch(),
                  options.epochs * trainer.steps_per_epoch());
  for (bool ends = false; !ends;) {
    if (timeline && run.epochs.empty()) timeline->start();
    const EpochMeasurement epoch =
        timer.run(run.epochs_done(), options.evaluate, run.promises_equal_replicas);
    if (timeline && run.epochs.empty()) timeline->finish();
    run.failure = joint_failure(ranks.host, trainer.failure());
    if (!run.failure.empty()) return;
    run.epochs.push_back(epoch);
    run.remarks = trainer.remarks();
    EpochMeasurement& last = run.epochs.back();
    ends =
        !last.replicas_equal || run.epochs_done() == options.epochs || reached_target(options, run);
    // What is wrong is not kept.
    if (last.replicas_equal) {
      ranks.progress.work(fmt::format("checkpoint after epoch {}", run.epochs_done() - 1));
      checkpoints.after_epoch(trainer, run.epochs_done(), run.seconds_done(), ends);
    }
    ranks.progress.end_cell();
    after_epoch(run);
  }
}

/// Collective: what the gradients go over; null: `ranks.host`, which is mpi. `name`: a transport,
/// or auto: nccl where every rank has a device of its own, cuda_ipc where they share some (nccl
/// where that was told to take them), else mpi. Throws Unavailable when it is impossible.
std::unique_ptr<Communicator> gradient_transport(const Ranks& ranks, std::string_view name,
                                                 const RankDevices& devices) {
  if (name == "auto") {
    const bool nccl =
        all_agree(ranks.host, devices.own() ? !nccl_version().empty() : nccl_shares_devices());
    name = !devices.each() ? "mpi" : nccl ? "nccl" : "cuda_ipc";
  }
  if (name == "mpi") return nullptr;
  auto transport = make_transport(ranks, name, Memory::host, devices);
  // So that a rank which waits for others while it builds a model is known to.
  transport->set_marks(ranks.host.marks());
  return transport;
}

}  // namespace

double EpochRun::seconds_done() const {
  double seconds = earlier.seconds;
  for (const EpochMeasurement& epoch : epochs) seconds += epoch.seconds;
  return seconds;
}

MiddleEpochs middle_of(const EpochRun& run) {
  std::vector<const EpochMeasurement*> epochs;
  for (const EpochMeasurement& epoch : run.epochs) epochs.push_back(&epoch);
  std::ranges::stable_sort(epochs, {}, &EpochMeasurement::seconds);
  const std::size_t low = (epochs.size() - 1) / 2, high = epochs.size() / 2;
  return low == high ? MiddleEpochs{epochs[low]} : MiddleEpochs{epochs[low], epochs[high]};
}

bool reached_target(const EpochOptions& options, const EpochRun& run) {
  return options.target_accuracy > 0 && run.epochs.back().test_accuracy >= options.target_accuracy;
}

EpochRun measure_epochs(const Ranks& ranks, const EpochOptions& options,
                        std::unique_ptr<Communicator>& transport,
                        const std::function<void(const EpochRun&)>& after_epoch) {
  EpochRun run;
  const TrainerOptions& wanted = options.training.trainer;
  run.workers = workers_of(wanted, ranks.session.size());
  run.trainer = resolved(wanted, run.workers);
  run.dataset = run.dataset_id = run.trainer.dataset;
  run.transport = options.transport;
  try {
    transport = gradient_transport(ranks, options.transport, options.training.placed);
  } catch (const Unavailable& error) {
    run.skipped = error.what();
    return run;
  }
  Communicator& gradients = transport ? *transport : ranks.host;
  const std::string lack =
      lack_of_memory(ranks, [&] { measure(ranks, options, gradients, after_epoch, run); });
  ranks.progress.end_cell();
  if (!lack.empty()) run.failure = lack;
  run.alone = !lack.empty() && ranks.session.size() > 1;
  return run;
}

}  // namespace scalebench
