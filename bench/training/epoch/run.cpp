// SPDX-License-Identifier: Apache-2.0
#include "bench/training/epoch/run.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/cli/stderr.hpp"
#include "bench/machine/environment.hpp"
#include "bench/program/monitor.hpp"
#include "bench/program/recorder.hpp"
#include "bench/record/columns.hpp"
#include "bench/training/epoch/account.hpp"
#include "bench/training/epoch/measure.hpp"
#include "bench/training/epoch/recording.hpp"
#include "collectives/control.hpp"
#include "kernels/error.hpp"
#include "models/gradients/gradient_sync.hpp"

namespace scalebench {
namespace {

/// By what algorithm and over what the gradients travel; empty where nothing of the kind does.
struct Travel {
  std::string allreduce, transport;
};
Travel travel_of(const EpochOptions& options, const EpochRun& run) {
  const Sends sends = gradient_sync_named(run.trainer.gradient_sync).sends;
  return {sends == Sends::allreduces ? options.allreduce : std::string(),
          sends == Sends::nothing ? std::string() : run.transport};
}

/// Of one epoch, however many there are.
std::string canonical_epoch(const EpochOptions& options, const EpochRun& run) {
  const TrainerOptions& trainer = run.trainer;
  // Strong scaling keeps the global batch and the images over N, weak scaling each rank's.
  const bool strong = options.scaling == "strong";
  const std::string batch = strong ? fmt::format("global_batch={}", trainer.global_batch)
                                   : fmt::format("batch={}", trainer.batch);
  const std::int64_t samples =
      strong ? trainer.samples_per_epoch
             : trainer.samples_per_epoch / (run.workers * std::max(1, trainer.share_of));
  // A case is the same in every round.
  const std::uint64_t seed =
      trainer.seed - static_cast<std::uint64_t>(options.training.record.round);
  const std::string sync = text_of(trainer.gradient_sync, trainer.sync);
  const std::string share =
      trainer.share_of > 1 ? fmt::format(" share_of={}", trainer.share_of) : "";
  const Travel travel = travel_of(options, run);
  return fmt::format(
      "epoch model={} gradient_sync={}{}{}{} allreduce={} transport={} device={} dtype={} "
      "threads={} "
      "dataset={} scaling={} {} samples={} optimizer={} learning_rate={} lr_scaling={} "
      "lr_warmup={} "
      "seed={}{}{}",
      trainer.choice.label, trainer.gradient_sync, sync.empty() ? "" : " ", sync,
      variant_text(trainer), travel.allreduce, travel.transport,
      device_label(options.training.trainer), dtype_label(trainer.precision), trainer.threads,
      run.dataset_id, options.scaling, batch, samples, trainer.optimizer, trainer.rate.base,
      trainer.rate.scaling == RateScaling::linear ? "linear" : "none", trainer.rate.warmup_epochs,
      seed, text_of_input(trainer), share);
}

/// What to know of a run beside its numbers; empty when all is usual.
std::string note_of(const EpochOptions& options, const EpochRun& run) {
  std::vector<std::string> parts;
  if (!run.epochs.back().replicas_equal) parts.emplace_back("replicas differ after the last epoch");
  // The case does not say it: who injects a fault compares the case with itself.
  const std::string faults = options.injections.lasting();
  if (!faults.empty()) parts.push_back(std::string(kInjectedNote) + faults);
  if (std::string note = account_note(middle_of(run)); !note.empty()) {
    parts.push_back(std::move(note));
  }
  if (!run.remarks.empty()) parts.push_back(run.remarks);
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string canonical(const EpochOptions& options, const EpochRun& run) {
  const std::string epoch = canonical_epoch(options, run);
  if (options.target_accuracy == 0) return epoch;
  return fmt::format("{} target_accuracy={}", epoch, options.target_accuracy);
}

/// How it is computed and learnt, as far as no other column and no default says it.
std::string settings_of(const TrainerOptions& trainer) {
  std::string text = variant_text(trainer) + text_of_input(trainer);
  if (trainer.rate.base != trainer.choice.learning_rate) {
    text += fmt::format(" learning_rate={}", trainer.rate.base);
  }
  if (trainer.rate.scaling == RateScaling::linear) text += " lr_scaling=linear";
  return text.empty() ? text : text.substr(1);
}

/// What is known without having measured.
ResultRow described(const Ranks& ranks, const EpochOptions& options, const EpochRun& run,
                    const Recorder& recorder) {
  const TrainerOptions& trainer = run.trainer;
  ResultRow row = recorder.case_row(canonical(options, run));
  row.set("model", trainer.choice.label);
  row.set("gradient_sync", trainer.gradient_sync);
  row.set("device", device_label(options.training.trainer));
  // One rank exchanges nothing, by whatever algorithm.
  if (ranks.session.size() > 1) {
    const Travel travel = travel_of(options, run);
    row.set("allreduce", travel.allreduce).set("transport", travel.transport);
  }
  row.set("dtype", dtype_label(trainer.precision)).set("settings", settings_of(trainer));
  row.set("threads", trainer.threads).set("dataset", run.dataset);
  row.set("scaling", options.scaling).set("global_batch", trainer.global_batch);
  row.set("batch", trainer.batch).set("optimizer", trainer.optimizer);
  if (options.target_accuracy > 0) row.set("target_accuracy", options.target_accuracy);
  row.set("share_of", trainer.share_of);
  return row.set("nodes", ranks.host.topology().nodes());
}

/// Median over epochs; NaN unless all of them know their joules.
double typical_joules(const EpochRun& run) {
  std::vector<double> joules;
  for (const EpochMeasurement& epoch : run.epochs) joules.push_back(epoch.joules);
  const bool known = std::ranges::none_of(joules, [](double one) { return std::isnan(one); });
  return known ? median_of(joules) : std::numeric_limits<double>::quiet_NaN();
}

/// One row, of all ranks; of a run that failed or was skipped it says so, without statistics.
ResultRow row_of(const Ranks& ranks, const EpochOptions& options, const EpochRun& run,
                 const Recorder& recorder) {
  ResultRow row = described(ranks, options, run, recorder);
  if (!run.skipped.empty()) return row.set("status", "skipped").set("note", run.skipped);
  if (!run.failure.empty()) return row.set("status", "failed").set("note", run.failure);
  const EpochMeasurement& last = run.epochs.back();
  row.set("status", last.replicas_equal ? "ok" : "wrong").set("note", note_of(options, run));
  std::vector<double> seconds;
  for (const EpochMeasurement& epoch : run.epochs) seconds.push_back(epoch.seconds);
  set_statistics(row, summarise(seconds), false);
  row.set("samples", last.samples).set("test_accuracy", last.test_accuracy);
  if (reached_target(options, run)) row.set("epochs_to_target", run.epochs_done());
  set_account(row, middle_of(run));
  return row.set("joules", typical_joules(run));
}

/// The last epoch of `run` as a row of samples.csv.
ResultRow sample_of_last(const EpochOptions& options, const EpochRun& run,
                         const Recorder& recorder) {
  const EpochMeasurement& last = run.epochs.back();
  ResultRow row = recorder.sample_row(canonical(options, run), "epoch");
  row.set("repetition", run.epochs.size() - 1).set("seconds", last.seconds);
  row.set("samples", last.samples).set("skew_seconds", last.skew_seconds);
  row.set("slowest_rank", last.slowest_rank).set("train_loss", last.loss);
  row.set("test_loss", last.test_loss).set("test_accuracy", last.test_accuracy);
  return row.set("joules", last.joules);
}

/// The table that is printed while it runs; other formats print the rows at the end.
std::string epoch_head(const Ranks& ranks, const EpochOptions& options, const EpochRun& run) {
  const TrainerOptions& trainer = run.trainer;
  const Travel travel = travel_of(options, run);
  std::string head = fmt::format(
      "# scalebench epoch: {} ({} parameters) on {} rank(s), {}, {}, gradient sync {}{}{}\n# {} "
      "scaling, global batch {}, {} per rank, {} at rate {}, data {}\n",
      trainer.choice.label, run.parameters, ranks.session.size(),
      device_label(options.training.trainer), dtype_label(trainer.precision), trainer.gradient_sync,
      travel.allreduce.empty() ? "" : ", allreduce " + travel.allreduce,
      travel.transport.empty() ? "" : " over " + travel.transport, options.scaling,
      trainer.global_batch, trainer.batch, trainer.optimizer, full_rate(trainer.rate, run.workers),
      run.dataset);
  head += emulation_line();
  if (!run.remarks.empty()) head += fmt::format("# {}\n", run.remarks);
  return head + fmt::format("{:>6} {:>10} {:>9} {:>11} {:>9} {:>9}\n", "epoch", "time (s)",
                            "samples", "images/s", "loss", "accuracy");
}

/// `hosts`: by rank.
std::string epoch_line(const EpochRun& run, bool oversubscribed,
                       const std::vector<std::string>& hosts) {
  const EpochMeasurement& last = run.epochs.back();
  std::string line =
      fmt::format("{:>6} {:>10.3f} {:>9} {:>11.1f}", run.epochs_done() - 1, last.seconds,
                  last.samples, static_cast<double>(last.samples) / last.seconds);
  line += ' ';
  line += std::isnan(run.epochs.back().loss) ? fmt::format("{:>9} ", "-")
                                             : fmt::format("{:>9.4f} ", last.loss);
  line += std::isnan(last.test_accuracy) ? fmt::format("{:>9}", "-")
                                         : fmt::format("{:>8.2f}%", 100 * last.test_accuracy);
  line += last.replicas_equal ? "\n" : "  WRONG: replicas differ\n";
  return line +
         where_it_went(last, device_label(run.trainer).starts_with("cpu"), oversubscribed, hosts);
}

/// Says why, and ends all ranks where one failed inside a step: it cannot come back to the others.
void end_failed(const Ranks& ranks, const EpochRun& run) {
  if (!run.skipped.empty() && ranks.first()) print_line("skipped: " + run.skipped);
  if (run.failure.empty()) return;
  if (!run.alone) {
    if (ranks.first()) print_line(run.failure);
    return;
  }
  ranks.watchdog.give_up();
  say_last(run.failure);
  // Memory ends on all ranks alike, as a rule: rank 0 shall have time to write its row.
  if (!ranks.first()) std::this_thread::sleep_for(std::chrono::seconds(3));
  std::fflush(nullptr);
  ranks.session.abort(static_cast<int>(ExitCode::incomplete));
}

}  // namespace

ExitCode train_epochs(const Ranks& ranks, const EpochOptions& given) {
  EpochOptions options = given;
  choose_device(ranks, options.training);
  Recorder recorder(ranks, options.training.record, epoch_schema(), options.training.command,
                    training_libraries());
  require_trace_file(options);
  Console console(ranks.first(), options.training.quiet);
  note_job(options.training, options.checkpoints.folder, console);
  const std::vector<ResultRow> hosts =
      look_at_hosts(ranks, options.training.hosts, recorder, console);
  Monitor monitor(ranks, options.training.monitor, options.training.record.launch, recorder);
  const std::string& format = options.training.format;
  const std::vector<std::string> host_of_rank = all_gather(ranks.host, ranks.session.host());
  std::unique_ptr<Communicator> gradients;
  const EpochRun run = measure_epochs(ranks, options, gradients, [&](const EpochRun& so_far) {
    recorder.write(sample_of_last(options, so_far, recorder));
    if (format != "table") return;
    if (so_far.epochs.size() == 1) console.result(epoch_head(ranks, options, so_far));
    console.result(epoch_line(so_far, recorder.is_crowded(), host_of_rank));
  });
  Outcome outcome;
  if (format == "csv") console.result(csv_line(epoch_schema().columns));
  const ResultRow row = row_of(ranks, options, run, recorder);
  recorder.write(row);
  if (format == "csv") console.result(csv_line(row.cells()));
  if (format == "json") console.result(json_line(row));
  outcome.count(row.get("status"));
  monitor.finish(console);
  const bool trained = run.failure.empty() && run.skipped.empty();
  if (trained && !options.record_trace.empty()) {
    record_trace(ranks, gradients ? *gradients : ranks.host, options, console);
  }
  recorder.finish();
  end_failed(ranks, run);
  return conclude(hosts, options.training.hosts, format, console, outcome.exit_code());
}

}  // namespace scalebench
