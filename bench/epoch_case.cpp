// SPDX-License-Identifier: Apache-2.0
#include "bench/epoch_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "bench/allreduce_transport.hpp"
#include "bench/epoch_states.hpp"
#include "bench/event_log.hpp"
#include "bench/measure/clock_sync.hpp"
#include "bench/watchdog.hpp"
#include "collectives/control.hpp"
#include "models/gradient_sync.hpp"
#include "models/trainer.hpp"

namespace scalebench {
namespace {

/// The first steps build LibTorch's kernels and memory pools: a model of their own pays for that,
/// so that the measured one starts from its first weights. Returns what one of the later steps
/// took, at most and on any rank; 0: unknown.
double warm_up(const TrainerOptions& options, Communicator& gradients, const Ranks& ranks,
               int steps) {
  if (steps == 0) return 0;
  NoTrace trace;
  Trainer trainer(options, gradients, ranks.host, trace);
  double step_seconds = 0;
  for (int i = 0; i < steps; ++i) {
    const double begin = local_seconds();
    trainer.train_step();
    step_seconds = local_seconds() - begin;
  }
  return std::ranges::max(all_gather(ranks.host, step_seconds));
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Begins a step for the watchdog, and with it ends the one before.
class StepMarks {
 public:
  /// A limit that the user gave is not stretched by what steps are expected to take.
  StepMarks(Watchdog& watchdog, bool stretch) : watchdog_(watchdog), stretch_(stretch) {}

  void begin_span(const std::string& name, double step_seconds) {
    watchdog_.cell(name);
    if (stretch_) watchdog_.expect(step_seconds);
  }
  void step() {
    leave();
    watchdog_.enter();
    inside_ = true;
  }
  void end_span() {
    leave();
    watchdog_.end_cell();
  }

 private:
  void leave() {
    if (inside_) watchdog_.leave();
    inside_ = false;
  }

  Watchdog& watchdog_;
  const bool stretch_;
  bool inside_ = false;
};

class EpochTimer {
 public:
  EpochTimer(const Ranks& ranks, Trainer& trainer, EventLog& log, StepMarks& marks,
             double step_seconds)
      : ranks_(ranks), trainer_(trainer), log_(log), marks_(marks), step_seconds_(step_seconds) {}

  EpochMeasurement run(int epoch, bool evaluate, bool check_replicas) {
    const GlobalClock clock(ranks_.host);
    ranks_.host.barrier();
    marks_.begin_span(fmt::format("epoch {}", epoch), step_seconds_);
    log_.restart();
    const EpochResult trained = trainer_.train_epoch(epoch);
    const RankTrace trace = log_.read();
    marks_.end_span();

    EpochMeasurement measured = join_traces(ranks_.host, trace, clock);
    const auto samples = all_gather(ranks_.host, static_cast<double>(trained.samples));
    measured.samples =
        static_cast<std::int64_t>(std::accumulate(samples.begin(), samples.end(), 0.0));
    measured.loss = mean(all_gather(ranks_.host, trained.loss));
    if (check_replicas) measured.replicas_equal = trainer_.replicas_equal();
    measured.test_accuracy = std::numeric_limits<double>::quiet_NaN();
    if (evaluate) {
      // An image costs less than in training; there are at most as many of them.
      const double most = measured.seconds * static_cast<double>(trainer_.training_images()) /
                          static_cast<double>(std::max<std::int64_t>(1, measured.samples));
      marks_.begin_span(fmt::format("evaluation after epoch {}", epoch), most / kLimitOverExpected);
      const double begin = local_seconds();
      measured.test_accuracy = trainer_.evaluate();
      measured.evaluate_seconds =
          std::ranges::max(all_gather(ranks_.host, local_seconds() - begin));
      marks_.end_span();
    }
    return measured;
  }

 private:
  static constexpr double kLimitOverExpected = 100;  // of Watchdog::expect

  const Ranks& ranks_;
  Trainer& trainer_;
  EventLog& log_;
  StepMarks& marks_;
  const double step_seconds_;
};

WatchdogOptions watchdog_options(const Ranks& ranks, const EpochOptions& options) {
  WatchdogOptions watchdog;
  if (options.timeout_seconds > 0) watchdog.limit_seconds = options.timeout_seconds;
  watchdog.end = [&ranks] { ranks.session.abort(static_cast<int>(ExitCode::incomplete)); };
  return watchdog;
}

}  // namespace

EpochRun measure_epochs(const Ranks& ranks, const EpochOptions& options,
                        const std::function<void(const EpochRun&)>& after_epoch) {
  const TrainerOptions& wanted = options.training.trainer;
  const bool on_device = wanted.device == ComputeDevice::cuda;
  const AllreduceTransport transport(
      ranks, options.transport == "auto" ? (on_device ? "nccl" : "mpi") : options.transport);
  Communicator& gradients = transport.communicator();
  Watchdog watchdog(ranks.host, watchdog_options(ranks, options));
  StepMarks marks(watchdog, options.timeout_seconds == 0);
  const double step_seconds = warm_up(wanted, gradients, ranks, options.warm_up_steps);

  EventLog log([&] { marks.step(); });
  Trainer trainer(wanted, gradients, ranks.host, log);
  EpochRun run;
  run.trainer = trainer.options();
  run.parameters = trainer.parameter_count();
  run.dataset = trainer.dataset_name();
  run.transport = gradients.transport();
  run.promises_equal_replicas = gradient_sync_named(wanted.gradient_sync).equal_replicas;
  EpochTimer timer(ranks, trainer, log, marks, step_seconds);
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    run.epochs.push_back(timer.run(epoch, options.evaluate, run.promises_equal_replicas));
    after_epoch(run);
    if (!run.epochs.back().replicas_equal) break;
  }
  return run;
}

}  // namespace scalebench
