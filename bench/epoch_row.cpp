// SPDX-License-Identifier: Apache-2.0
#include "bench/epoch_row.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/epoch_account.hpp"
#include "bench/fault_words.hpp"
#include "bench/gradient_sync_words.hpp"
#include "bench/statistics_columns.hpp"
#include "collectives/control.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// The phases that have a column, in the order of a step.
struct PhaseColumn {
  Phase phase;
  std::string_view column;
};
constexpr std::array kColumns{
    PhaseColumn{Phase::load, "load_seconds"},
    PhaseColumn{Phase::forward, "forward_seconds"},
    PhaseColumn{Phase::backward, "backward_seconds"},
    PhaseColumn{Phase::sync, "sync_seconds"},
    PhaseColumn{Phase::update, "update_seconds"},
};

double phase_seconds(const RankEpoch& rank, Phase phase) {
  return rank.phase_seconds[static_cast<std::size_t>(phase)];
}

/// What no named phase covers, so that the columns sum to `total`.
double other_seconds(const RankEpoch& rank, double total) {
  double named = 0;
  for (const PhaseColumn& column : kColumns) named += phase_seconds(rank, column.phase);
  return total - named;
}

/// One rank's epoch, or the mean over ranks, averaged over the run's epochs.
RankEpoch mean_of(const EpochRun& run, std::size_t first_rank, std::size_t last_rank) {
  RankEpoch mean;
  const auto n = static_cast<double>(run.epochs.size() * (last_rank - first_rank));
  for (const EpochMeasurement& epoch : run.epochs) {
    for (std::size_t rank = first_rank; rank < last_rank; ++rank) {
      mean.seconds += epoch.ranks[rank].seconds / n;
      for (std::size_t i = 0; i < mean.phase_seconds.size(); ++i) {
        mean.phase_seconds[i] += epoch.ranks[rank].phase_seconds[i] / n;
      }
    }
  }
  return mean;
}

double mean_seconds(const EpochRun& run) {
  double sum = 0;
  for (const EpochMeasurement& epoch : run.epochs) sum += epoch.seconds;
  return sum / static_cast<double>(run.epochs.size());
}

std::string canonical(const EpochOptions& options, const EpochRun& run) {
  const TrainerOptions& trainer = run.trainer;
  // Strong scaling keeps the global batch over N, weak scaling each rank's.
  const std::string batch = options.scaling == "strong"
                                ? fmt::format("global_batch={}", trainer.global_batch)
                                : fmt::format("batch={}", trainer.batch);
  const std::string sync = text_of(trainer.gradient_sync, trainer.sync);
  const std::string accumulate =
      trainer.accumulate > 1 ? fmt::format(" accumulate={}", trainer.accumulate) : "";
  const std::string share =
      trainer.share_of > 1 ? fmt::format(" share_of={}", trainer.share_of) : "";
  const std::string faults = text_of(trainer.faults);
  return fmt::format(
      "epoch model={} gradient_sync={}{}{}{} allreduce={} transport={} device={} dtype=float "
      "threads={} "
      "dataset={} scaling={} {} samples={} optimizer={} learning_rate={} lr_scaling={} "
      "lr_warmup={} "
      "seed={}{}{}{}",
      trainer.model, trainer.gradient_sync, sync.empty() ? "" : " ", sync, accumulate,
      options.allreduce, run.transport, device_label(options.training.trainer), trainer.threads,
      run.dataset, options.scaling, batch, trainer.samples_per_epoch, trainer.optimizer,
      trainer.rate.base, trainer.rate.scaling == RateScaling::linear ? "linear" : "none",
      trainer.rate.warmup_epochs, trainer.seed, share, faults.empty() ? "" : " ", faults);
}

ResultRow row_for(const EpochOptions& options, const EpochRun& run, const Recorder& recorder,
                  const std::vector<double>& seconds, const RankEpoch& phases, double total) {
  const TrainerOptions& trainer = run.trainer;
  const EpochMeasurement& last = run.epochs.back();
  ResultRow row = recorder.case_row(canonical(options, run));
  row.set("status", last.replicas_equal ? "ok" : "wrong");
  if (!last.replicas_equal) {
    row.set("note", "replicas differ after the last epoch");
  } else if (const std::string faults = text_of(trainer.faults); !faults.empty()) {
    row.set("note", "injected: " + faults);
  } else if (!middle_of(run).clocks_agree) {
    row.set("note", "clocks disagree: waiting and transfer are told apart roughly");
  }
  row.set("model", trainer.model).set("parameters", run.parameters);
  row.set("gradient_sync", trainer.gradient_sync);
  row.set("device", device_label(options.training.trainer));
  // One rank exchanges nothing, by whatever algorithm.
  if (last.ranks.size() > 1)
    row.set("allreduce", options.allreduce).set("transport", run.transport);
  row.set("dtype", "float").set("threads", trainer.threads).set("dataset", run.dataset);
  row.set("scaling", options.scaling).set("global_batch", trainer.global_batch);
  row.set("batch", trainer.batch).set("optimizer", trainer.optimizer);
  row.set("learning_rate", trainer.rate.base).set("epochs", run.epochs.size());
  const Summary summary = summarise(seconds);
  set_statistics(row, summary, false);
  row.set("converged", "");  // epochs are counted, not repeated until an interval is narrow
  row.set("samples", last.samples);
  row.set("images_per_s", static_cast<double>(last.samples) / summary.median);
  for (const PhaseColumn& column : kColumns) {
    row.set(column.column, phase_seconds(phases, column.phase));
  }
  row.set("other_seconds", other_seconds(phases, total));
  row.set("evaluate_seconds", options.evaluate ? last.evaluate_seconds : std::nan(""));
  row.set("train_loss", last.loss).set("test_accuracy", last.test_accuracy);
  row.set("share_of", trainer.share_of);
  if (run.promises_equal_replicas) row.set("replicas_equal", last.replicas_equal ? 1 : 0);
  return row;
}

}  // namespace

std::vector<ResultRow> rows_of(const Ranks& ranks, const EpochOptions& options, const EpochRun& run,
                               const Recorder& recorder) {
  const std::vector<std::string> hosts = all_gather(ranks.host, ranks.session.host());
  const int nodes = ranks.host.topology().nodes();
  std::vector<ResultRow> rows;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    std::vector<double> seconds;
    for (const EpochMeasurement& epoch : run.epochs) seconds.push_back(epoch.ranks[rank].seconds);
    const RankEpoch phases = mean_of(run, rank, rank + 1);
    rows.push_back(row_for(options, run, recorder, seconds, phases, phases.seconds));
    const double share = static_cast<double>(run.epochs.back().samples) /
                         static_cast<double>(hosts.size()) / median_of(seconds);
    rows.back().set("rank", rank).set("host", hosts[rank]).set("nodes", nodes);
    rows.back().set("images_per_s", share);
    const EpochMeasurement& middle = middle_of(run);
    set_states(rows.back(), middle.ranks[rank].states, middle);
  }
  std::vector<double> seconds;
  for (const EpochMeasurement& epoch : run.epochs) seconds.push_back(epoch.seconds);
  rows.push_back(
      row_for(options, run, recorder, seconds, mean_of(run, 0, hosts.size()), mean_seconds(run)));
  rows.back().set("rank", "all").set("nodes", nodes);
  set_states(rows.back(), middle_of(run));
  return rows;
}

std::vector<ResultRow> samples_of_last(const EpochOptions& options, const EpochRun& run,
                                       const Recorder& recorder) {
  const EpochMeasurement& last = run.epochs.back();
  const auto sample = [&](double seconds, std::int64_t samples) {
    ResultRow row = recorder.sample_row(canonical(options, run), "epoch");
    return row.set("repetition", run.epochs.size() - 1)
        .set("seconds", seconds)
        .set("samples", samples);
  };
  std::vector<ResultRow> rows{sample(last.seconds, last.samples)};
  rows[0].set("skew_seconds", last.skew_seconds).set("slowest_rank", last.slowest_rank);
  const auto ranks = static_cast<std::int64_t>(last.ranks.size());
  for (std::size_t rank = 0; rank < last.ranks.size(); ++rank) {
    rows.push_back(sample(last.ranks[rank].seconds, last.samples / ranks).set("rank", rank));
  }
  return rows;
}

std::string epoch_head(const Ranks& ranks, const EpochOptions& options, const EpochRun& run) {
  const TrainerOptions& trainer = run.trainer;
  std::string head = fmt::format(
      "# scalebench epoch: {} ({} parameters) on {} rank(s), {}, gradient sync {}, allreduce {} "
      "over "
      "{}\n# {} scaling, global batch {}, {} per rank, {} at rate {}, data {}\n",
      trainer.model, run.parameters, ranks.session.size(), device_label(options.training.trainer),
      trainer.gradient_sync, options.allreduce, run.transport, options.scaling,
      trainer.global_batch, trainer.batch, trainer.optimizer, trainer.rate.base, run.dataset);
  head +=
      "# phases: mean over ranks, seconds; they sum to the epoch; evaluation is not part of it\n";
  return head +
         fmt::format("{:>6} {:>10} {:>9} {:>11} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9}\n",
                     "epoch", "time (s)", "samples", "images/s", "load", "forward", "backward",
                     "sync", "update", "other", "loss", "accuracy");
}

std::string epoch_line(const EpochRun& run) {
  const EpochMeasurement& last = run.epochs.back();
  EpochRun only = run;
  only.epochs = {last};
  const RankEpoch phases = mean_of(only, 0, last.ranks.size());
  std::string line =
      fmt::format("{:>6} {:>10.3f} {:>9} {:>11.1f}", run.epochs.size() - 1, last.seconds,
                  last.samples, static_cast<double>(last.samples) / last.seconds);
  for (const PhaseColumn& column : kColumns) {
    line += fmt::format(" {:>8.3f}", phase_seconds(phases, column.phase));
  }
  line += fmt::format(" {:>8.3f} {:>9.4f} ", other_seconds(phases, last.seconds), last.loss);
  line += std::isnan(last.test_accuracy) ? fmt::format("{:>9}", "-")
                                         : fmt::format("{:>8.2f}%", 100 * last.test_accuracy);
  line += last.replicas_equal ? "\n" : "  WRONG: replicas differ\n";
  return line + where_it_went(last);
}

}  // namespace scalebench
