// SPDX-License-Identifier: Apache-2.0
#include "bench/epoch_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "bench/allreduce_transport.hpp"
#include "bench/measure/clock_sync.hpp"
#include "bench/phase_clock.hpp"
#include "collectives/control.hpp"
#include "models/gradient_sync.hpp"
#include "models/trainer.hpp"

namespace scalebench {
namespace {

/// The first steps build LibTorch's kernels and memory pools: a model of their own pays for that,
/// so that the measured one starts from its first weights.
void warm_up(const TrainerOptions& options, Communicator& gradients, const Ranks& ranks,
             int steps) {
  if (steps == 0) return;
  NoTrace trace;
  Trainer trainer(options, gradients, ranks.host, trace);
  for (int i = 0; i < steps; ++i) trainer.train_step();
}

/// Of those that are numbers: a rank without images has no loss.
double mean(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

class EpochTimer {
 public:
  EpochTimer(const Ranks& ranks, Trainer& trainer, PhaseClock& phases)
      : ranks_(ranks), trainer_(trainer), phases_(phases) {}

  EpochMeasurement run(int epoch, bool evaluate, bool check_replicas) {
    const GlobalClock clock(ranks_.host);
    ranks_.host.barrier();
    const double start = clock.now();
    phases_.restart();
    const EpochResult trained = trainer_.train_epoch(epoch);
    phases_.enter(Phase::other);
    const double end = clock.now();

    EpochMeasurement measured = join(start, end, clock.residual_seconds());
    const auto samples = all_gather(ranks_.host, static_cast<double>(trained.samples));
    for (std::size_t rank = 0; rank < samples.size(); ++rank) {
      measured.ranks[rank].samples = static_cast<std::int64_t>(samples[rank]);
      measured.samples += measured.ranks[rank].samples;
    }
    measured.loss = mean(all_gather(ranks_.host, trained.loss));
    measured.replica_divergence = std::numeric_limits<double>::quiet_NaN();
    if (check_replicas) {
      measured.replicas_equal = trainer_.replicas_equal();
    } else {
      // Before the evaluation, which may publish one model to all.
      measured.replica_divergence = trainer_.replica_divergence();
    }
    measured.test_accuracy = std::numeric_limits<double>::quiet_NaN();
    if (evaluate) {
      const double begin = local_seconds();
      measured.test_accuracy = trainer_.evaluate();
      measured.evaluate_seconds =
          std::ranges::max(all_gather(ranks_.host, local_seconds() - begin));
    }
    return measured;
  }

 private:
  EpochMeasurement join(double start, double end, double residual) const {
    std::vector<double> mine{start, end};
    for (int phase = 0; phase < kPhases; ++phase) {
      mine.push_back(phases_.seconds(static_cast<Phase>(phase)));
    }
    const std::vector<double> all = all_gather(ranks_.host, mine);
    const auto ranks = static_cast<std::size_t>(ranks_.session.size());
    EpochMeasurement measured;
    std::vector<double> starts, ends, durations;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const double* of_rank = &all[rank * mine.size()];
      starts.push_back(of_rank[0]);
      ends.push_back(of_rank[1]);
      durations.push_back(of_rank[1] - of_rank[0]);
      RankEpoch& one = measured.ranks.emplace_back();
      one.seconds = durations.back();
      std::copy_n(of_rank + 2, kPhases, one.phase_seconds.begin());
    }
    const double joint = std::ranges::max(ends) - std::ranges::min(starts);
    const bool clocks_agree = residual <= 0.01 * joint;
    const std::vector<double>& last = clocks_agree ? ends : durations;
    measured.seconds = clocks_agree ? joint : std::ranges::max(durations);
    measured.skew_seconds = std::ranges::max(last) - std::ranges::min(last);
    measured.slowest_rank = static_cast<int>(std::ranges::max_element(last) - last.begin());
    return measured;
  }

  const Ranks& ranks_;
  Trainer& trainer_;
  PhaseClock& phases_;
};

}  // namespace

EpochRun measure_epochs(const Ranks& ranks, const EpochOptions& options,
                        const std::function<void(const EpochRun&)>& after_epoch) {
  const TrainerOptions& wanted = options.training.trainer;
  const bool on_device = wanted.device == ComputeDevice::cuda;
  const AllreduceTransport transport(
      ranks, options.transport == "auto" ? (on_device ? "nccl" : "mpi") : options.transport);
  Communicator& gradients = transport.communicator();
  warm_up(wanted, gradients, ranks, options.warm_up_steps);

  PhaseClock phases;
  Trainer trainer(wanted, gradients, ranks.host, phases);
  EpochRun run;
  run.trainer = trainer.options();
  run.parameters = trainer.parameter_count();
  run.dataset = trainer.dataset_name();
  run.transport = gradients.transport();
  run.workers = trainer.workers();
  run.promises_equal_replicas = gradient_sync_named(wanted.gradient_sync).equal_replicas;
  EpochTimer timer(ranks, trainer, phases);
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    run.epochs.push_back(timer.run(epoch, options.evaluate, run.promises_equal_replicas));
    run.remarks = trainer.remarks();
    after_epoch(run);
    if (!run.epochs.back().replicas_equal) break;
  }
  return run;
}

}  // namespace scalebench
