// SPDX-License-Identifier: Apache-2.0
#include "bench/training/throughput/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "bench/cli/quantity.hpp"
#include "bench/machine/environment.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/program/monitor.hpp"
#include "bench/record/columns.hpp"
#include "bench/training/mfu.hpp"
#include "bench/training/throughput/measure.hpp"
#include "collectives/control.hpp"
#include "kernels/error.hpp"
#include "models/torch/device.hpp"

namespace scalebench {

// What was found, as rows of throughput.csv and samples.csv and as lines on stdout.

namespace {

/// A backward pass multiplies as often as two forward passes: by the weights for the layer below,
/// and by its inputs for the weights.
constexpr double kPassesOfTraining = 3;

std::string canonical(const ThroughputOptions& options, const ThroughputResult& result) {
  const TrainerOptions& trainer = result.trainer;
  return fmt::format(
      "throughput model={}{} device={} dtype={} threads={} dataset={} batch={} "
      "optimizer={} seed={}",
      trainer.choice.label, variant_text(trainer), device_label(options.training.trainer),
      dtype_label(trainer.precision), trainer.threads, trainer.dataset, trainer.batch,
      trainer.optimizer, trainer.seed);
}

/// What is known without having measured.
ResultRow described(const ThroughputOptions& options, const ThroughputResult& result,
                    const Recorder& recorder) {
  ResultRow row = recorder.case_row(canonical(options, result));
  row.set("model", result.trainer.choice.label);
  row.set("device", device_label(options.training.trainer));
  row.set("dtype", dtype_label(result.trainer.precision));
  row.set("memory_format", memory_format(result.trainer));
  row.set("step", kStepNames[static_cast<std::size_t>(result.trainer.step)]);
  row.set("threads", result.trainer.threads);
  row.set("batch", result.trainer.batch);
  return row;
}

/// Which share of its devices' arithmetic a row uses: model FLOP/s over the peak FLOP/s of `ranks`
/// as their maker has it (MFU). A precision or a device that is not known leaves its cell empty.
void set_utilisation(ResultRow& row, const ThroughputResult& result, std::size_t ranks) {
  const auto published = published_flops(row.get("device"), result.trainer.precision);
  if (!published || result.forward_flops == 0) return;
  const double flops = kPassesOfTraining * result.forward_flops * number_in(row, "images_per_s");
  row.set("mfu_published", flops / (*published * static_cast<double>(ranks)));
}

/// `row`: described.
ResultRow row_for(ResultRow row, const ThroughputResult& result, const Summary& summary) {
  row.set("status", "ok").set("note", result.remarks);
  set_statistics(row, summary, false);
  const auto batch = static_cast<double>(result.trainer.batch);
  row.set("images_per_s", batch / summary.median);
  row.set("images_per_s_ci_low", batch / summary.ci_high);
  return row.set("images_per_s_ci_high", batch / summary.ci_low);
}

/// One row for each rank, then one for all; that one alone on one rank and, with status failed, for
/// a result with a failure.
std::vector<ResultRow> rows_of(const Ranks& ranks, const ThroughputOptions& options,
                               const ThroughputResult& result, const Recorder& recorder) {
  ResultRow head = described(options, result, recorder);
  head.set("nodes", ranks.host.topology().nodes());
  if (!result.failure.empty()) {
    return {head.set("status", "failed").set("note", result.failure).set("rank", "all")};
  }
  std::vector<Summary> summaries;
  for (const auto& seconds : result.step_seconds) summaries.push_back(summarise(seconds));
  std::vector<ResultRow> rows;
  double images = 0, images_low = 0, images_high = 0;
  const auto batch = static_cast<double>(result.trainer.batch);
  for (std::size_t rank = 0; rank < summaries.size(); ++rank) {
    if (summaries.size() > 1) {
      ResultRow& row = rows.emplace_back(row_for(head, result, summaries[rank]));
      row.set("rank", rank);
      set_card(row, result.cards[rank]);
      set_joules(row);
      set_utilisation(row, result, 1);
    }
    images += batch / summaries[rank].median;
    images_low += batch / summaries[rank].ci_high;
    images_high += batch / summaries[rank].ci_low;
  }
  const auto slowest = std::ranges::max_element(summaries, {}, &Summary::median);
  ResultRow all = row_for(head, result, *slowest);
  all.set("rank", "all");
  all.set("images_per_s", images);
  all.set("images_per_s_ci_low", images_low).set("images_per_s_ci_high", images_high);
  set_card(all, mean_of(result.cards));
  set_joules(all);
  set_utilisation(all, result, summaries.size());
  rows.push_back(all);
  return rows;
}

/// Not collective: the row of a case that was not tried.
ResultRow skipped_row(const Ranks& ranks, const ThroughputOptions& options, const std::string& why,
                      const Recorder& recorder) {
  ThroughputResult result;
  TrainerOptions possible = options.training.trainer;
  apply(StepVariant{}, possible);
  result.trainer = resolved(possible, ranks.session.size());
  const TrainerOptions& wanted = options.training.trainer;
  apply({wanted.precision, wanted.channels_last, wanted.step}, result.trainer);
  ResultRow row = described(options, result, recorder);
  row.set("status", "skipped").set("note", why).set("rank", "all");
  return row.set("nodes", ranks.host.topology().nodes());
}

std::vector<ResultRow> samples_of(const ThroughputOptions& options, const ThroughputResult& result,
                                  const Recorder& recorder) {
  std::vector<ResultRow> rows;
  if (!result.failure.empty()) return rows;
  const ResultRow head = recorder.sample_row(canonical(options, result), "throughput");
  for (std::size_t rank = 0; rank < result.step_seconds.size(); ++rank) {
    for (std::size_t i = 0; i < result.step_seconds[rank].size(); ++i) {
      ResultRow& row = rows.emplace_back(head);
      row.set("rank", rank).set("repetition", i).set("seconds", result.step_seconds[rank][i]);
      row.set("samples", result.trainer.batch);
    }
  }
  return rows;
}

/// What goes before the first line in the chosen format.
std::string throughput_head(const ThroughputOptions& options, int ranks) {
  if (options.training.format == "csv") return csv_line(throughput_schema().columns);
  if (options.training.format == "json") return "";
  const TrainerOptions& trainer = options.training.trainer;
  const std::string head = fmt::format(
      "# scalebench throughput: {} on {}, {} thread(s), {}\n"
      "# full training steps without synchronisation, {} rank(s) at once; * interval wider than 1 "
      "%\n",
      trainer.choice.label, device_label(trainer), trainer.threads, trainer.dataset, ranks);
  return head + emulation_line() +
         fmt::format(
             "{:>6} {:>13} {:>6} {:>7} {:>6} {:>11} {:>11} {:>11} {:>12} {:>8} {:>6} {:>7}\n",
             "dtype", "format", "step", "batch", "rank", "step (ms)", "low (ms)", "high (ms)",
             "images/s", "J/image", "mfu", "steps");
}

/// Whether its interval is wider than 1 % either way, or nobody knows.
bool is_wide(const ResultRow& row) {
  const double width = number_in(row, "seconds_ci_high") - number_in(row, "seconds_ci_low");
  return !(width <= 2 * kTarget * number_in(row, "seconds_median"));
}

std::string throughput_line(const ResultRow& row, const std::string& format) {
  if (format == "csv") return csv_line(row.cells());
  if (format == "json") return json_line(row);
  const std::string way =
      fmt::format("{:>6} {:>13} {:>6} {:>7} {:>6}", row.get("dtype"), row.get("memory_format"),
                  row.get("step"), row.get("batch"), row.get("rank"));
  if (row.get("status") != "ok") {
    return fmt::format("{} {}: {}\n", way, row.get("status"), row.get("note"));
  }
  return fmt::format(
      "{} {:>11} {:>11} {:>11} {:>12} {:>8} {:>6} {:>7}{}\n", way,
      scaled(row.get("seconds_median"), 1e3, 3), scaled(row.get("seconds_ci_low"), 1e3, 3),
      scaled(row.get("seconds_ci_high"), 1e3, 3), scaled(row.get("images_per_s"), 1, 1),
      scaled(row.get("gpu_joules_per_image"), 1, 4), scaled(row.get("mfu_published"), 1, 2),
      row.get("repetitions"), is_wide(row) ? "*" : "");
}

/// Why the device or the model cannot do it this way; empty: they can.
std::string why_not_tried(const TrainerOptions& trainer) {
  const std::string why = why_no_step(trainer.precision, trainer.step, trainer.device,
                                      trainer.device_index, trainer.threads);
  return why.empty() && trainer.step == StepKind::fused ? why_not_fused(trainer.choice) : why;
}

/// All cases: every way to compute a step with every batch, one after the other.
class ThroughputRun {
 public:
  /// `options`: with the device of this rank. All of them outlive the run.
  ThroughputRun(const Ranks& ranks, ThroughputOptions options, Recorder& recorder, Console& console)
      : ranks_(ranks), options_(std::move(options)), recorder_(recorder), console_(console) {}

  /// Collective: measures, records and prints.
  ExitCode all_cases() {
    TrainerOptions& trainer = options_.training.trainer;
    console_.result(throughput_head(options_, ranks_.session.size()));
    for (const StepVariant& way : options_.training.variants) {
      apply(way, trainer);
      too_big_.reset();
      listed_.clear();
      lacking_ = joint_failure(ranks_.host, why_not_tried(trainer));
      for (const std::int64_t batch : options_.batches) one_batch(batch);
    }
    return outcome_.exit_code();
  }

 private:
  void one_batch(std::int64_t batch) {
    TrainerOptions& trainer = options_.training.trainer;
    trainer.batch = batch;
    if (is_again(batch == 0 ? trainer.choice.batch : batch)) return;
    if (!lacking_.empty()) {
      skip(lacking_);
    } else if (too_big_ && batch > *too_big_) {
      skip(fmt::format("batch {} ran out of memory", *too_big_));
    } else {
      measure();
    }
  }

  /// Two lists of samples of one case would be taken for one: 0 is a batch that may be listed as a
  /// number, too.
  bool is_again(std::int64_t batch) {
    if (listed_.insert(batch).second) return false;
    console_.note(fmt::format("batch {} is listed more than once, and measured once", batch));
    return true;
  }

  void measure() {
    const bool counted = options_.steps > 0, capped = std::isfinite(options_.max_seconds);
    console_.note(fmt::format("{}: {} rank(s) at work for {}{}{}",
                              options_.training.trainer.choice.label, ranks_.session.size(),
                              counted ? fmt::format("{} steps", options_.steps) : "",
                              counted && capped ? ", " : "",
                              capped ? fmt::format("up to {:g} s", options_.max_seconds) : ""));
    const ThroughputResult result = measure_throughput(ranks_, options_);
    ranks_.progress.end_cell();
    if (result.too_few_images) return skip(result.failure);
    report(rows_of(ranks_, options_, result, recorder_));
    for (const ResultRow& row : samples_of(options_, result, recorder_)) recorder_.write(row);
    if (result.out_of_memory) too_big_ = result.trainer.batch;
  }

  void skip(const std::string& why) { report({skipped_row(ranks_, options_, why, recorder_)}); }

  void report(const std::vector<ResultRow>& rows) {
    for (const ResultRow& row : rows) {
      recorder_.write(row);
      console_.result(throughput_line(row, options_.training.format));
      outcome_.count(row.get("status"));
    }
  }

  const Ranks& ranks_;
  ThroughputOptions options_;  // of the case at hand
  Recorder& recorder_;
  Console& console_;
  Outcome outcome_;
  std::set<std::int64_t> listed_;        // batches of this way so far
  std::string lacking_;                  // why this way is not tried
  std::optional<std::int64_t> too_big_;  // the batch that this way had too little memory for
};

}  // namespace

ExitCode measure_steps(const Ranks& ranks, const ThroughputOptions& given) {
  ThroughputOptions options = given;
  choose_device(ranks, options.training);
  Recorder recorder(ranks, options.training.record, throughput_schema(), options.training.command,
                    training_libraries());
  Console console(ranks.first(), options.training.quiet);
  note_job(options.training, "", console);
  const std::vector<ResultRow> hosts =
      look_at_hosts(ranks, options.training.hosts, recorder, console);
  Monitor monitor(ranks, options.training.monitor, options.training.record.launch, recorder);
  const ExitCode code = ThroughputRun(ranks, options, recorder, console).all_cases();
  monitor.finish(console);
  recorder.finish();
  return conclude(hosts, options.training.hosts, options.training.format, console, code);
}

}  // namespace scalebench
