// SPDX-License-Identifier: Apache-2.0
#include "bench/training/throughput/rows.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "bench/cli/quantity.hpp"
#include "bench/machine/environment.hpp"
#include "bench/program/card_watch.hpp"
#include "bench/record/columns.hpp"
#include "bench/training/roofline.hpp"
#include "collectives/control.hpp"
#include "kernels/error.hpp"

namespace scalebench {
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
  if (result.parameters > 0) row.set("parameters", result.parameters);
  row.set("device", device_label(options.training.trainer));
  row.set("dtype", dtype_label(result.trainer.precision));
  row.set("memory_format", memory_format(result.trainer));
  row.set("step", step_label(result.trainer.step_graph)).set("threads", result.trainer.threads);
  if (result.search) row.set("largest", 1).set("batches_tried", result.search->tried);
  // What is searched and not found has no number.
  if (result.trainer.batch > 0) row.set("batch", result.trainer.batch);
  if (result.forward_flops > 0) {
    row.set("gflop_per_image", kPassesOfTraining * result.forward_flops / 1e9);
  }
  return row;
}

/// The sum over `ranks`, a precision or a device that is not known leaving its cell empty.
void set_peaks(ResultRow& row, const ThroughputResult& result, const Roofline& roofline,
               std::size_t first_rank, std::size_t ranks) {
  const auto sum = [&](const std::vector<double>& by_rank) {
    const auto begin = by_rank.begin() + static_cast<std::ptrdiff_t>(first_rank);
    return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(ranks), 0.0) / 1e9;
  };
  if (!roofline.bytes_per_s.empty()) row.set("roofline_gb_per_s", sum(roofline.bytes_per_s));
  const auto measured = roofline.flops.find(result.trainer.precision);
  if (measured != roofline.flops.end()) row.set("roofline_gflop_per_s", sum(measured->second));
  const auto published = published_flops(row.get("device"), result.trainer.precision);
  if (published) {
    row.set("published_gflop_per_s", *published * static_cast<double>(ranks) / 1e9);
  }
  set_utilisation(row);
}

ResultRow row_for(const ThroughputOptions& options, const ThroughputResult& result,
                  const Recorder& recorder, const Summary& summary) {
  ResultRow row = described(options, result, recorder);
  row.set("status", "ok").set("note", result.remarks);
  set_statistics(row, summary, result.converged);
  const auto batch = static_cast<double>(result.trainer.batch);
  row.set("images_per_s", batch / summary.median);
  row.set("images_per_s_ci_low", batch / summary.ci_high);
  row.set("images_per_s_ci_high", batch / summary.ci_low);
  return row;
}

}  // namespace

std::vector<ResultRow> rows_of(const Ranks& ranks, const ThroughputOptions& options,
                               const ThroughputResult& result, const Roofline& roofline,
                               const Recorder& recorder) {
  const std::vector<std::string> hosts = all_gather(ranks.host, ranks.session.host());
  const int nodes = ranks.host.topology().nodes();
  if (!result.failure.empty()) {
    ResultRow row = described(options, result, recorder);
    row.set("status", "failed").set("note", result.failure);
    return {row.set("rank", "all").set("nodes", nodes)};
  }
  std::vector<Summary> summaries;
  for (const auto& seconds : result.step_seconds) summaries.push_back(summarise(seconds));
  std::vector<ResultRow> rows;
  std::vector<DeviceSpell> spells;  // of all ranks
  double images = 0, images_low = 0, images_high = 0;
  const auto batch = static_cast<double>(result.trainer.batch);
  for (std::size_t rank = 0; rank < summaries.size(); ++rank) {
    rows.push_back(row_for(options, result, recorder, summaries[rank]));
    rows.back().set("rank", rank).set("host", hosts[rank]).set("nodes", nodes);
    set_spells(rows.back(), result.spells[rank]);
    spells.insert(spells.end(), result.spells[rank].begin(), result.spells[rank].end());
    set_peaks(rows.back(), result, roofline, rank, 1);
    images += batch / summaries[rank].median;
    images_low += batch / summaries[rank].ci_high;
    images_high += batch / summaries[rank].ci_low;
  }
  const auto slowest = std::ranges::max_element(summaries, {}, &Summary::median);
  ResultRow all = row_for(options, result, recorder, *slowest);
  all.set("rank", "all").set("nodes", nodes).set("images_per_s", images);
  all.set("images_per_s_ci_low", images_low).set("images_per_s_ci_high", images_high);
  set_spells(all, spells);
  set_peaks(all, result, roofline, 0, summaries.size());
  rows.push_back(all);
  return rows;
}

ResultRow skipped_row(const Ranks& ranks, const ThroughputOptions& options, const std::string& why,
                      const Recorder& recorder, std::optional<BatchSearch> search) {
  ThroughputResult result;
  TrainerOptions possible = options.training.trainer;
  apply(StepVariant{}, possible);
  result.trainer = resolved(possible, ranks.session.size());
  const TrainerOptions& wanted = options.training.trainer;
  apply({wanted.precision, wanted.channels_last, wanted.step_graph}, result.trainer);
  if (search) result.trainer.batch = search->largest;
  result.search = std::move(search);
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
      if (!result.spells[rank].empty()) set_spell(row, result.spells[rank][i]);
    }
  }
  return rows;
}

std::string throughput_head(const ThroughputOptions& options, int ranks, const Roofline& roofline) {
  if (options.training.format == "csv") return csv_header(throughput_schema());
  if (options.training.format == "json") return "";
  const TrainerOptions& trainer = options.training.trainer;
  std::string head = fmt::format(
      "# scalebench throughput: {} on {}, {} thread(s), {}\n"
      "# full training steps without synchronisation, {} rank(s) at once; * interval wider than 1 "
      "%\n",
      trainer.choice.label, device_label(trainer), trainer.threads, trainer.dataset, ranks);
  if (!roofline.bytes_per_s.empty()) {
    head += fmt::format("# rank 0 at best: {:.1f} GB/s", roofline.bytes_per_s.front() / 1e9);
    for (const auto& [precision, flops] : roofline.flops) {
      head += fmt::format(", {:.1f} GFLOP/s in {}", flops.front() / 1e9, dtype_label(precision));
    }
    head += "; mfu: share of these GFLOP/s\n";
  }
  return head + emulation_line() +
         fmt::format(
             "{:>6} {:>13} {:>6} {:>7} {:>6} {:>20} {:>11} {:>11} {:>11} {:>12} {:>6} {:>7}\n",
             "dtype", "format", "step", "batch", "rank", "host", "step (ms)", "low (ms)",
             "high (ms)", "images/s", "mfu", "steps");
}

std::string throughput_line(const ResultRow& row, const std::string& format) {
  if (format == "csv") return csv_line(row);
  if (format == "json") return json_line(row);
  const std::string way =
      fmt::format("{:>6} {:>13} {:>6} {:>7} {:>6}", row.get("dtype"), row.get("memory_format"),
                  row.get("step"), row.get("batch"), row.get("rank"));
  if (row.get("status") != "ok") {
    return fmt::format("{} {}: {}\n", way, row.get("status"), row.get("note"));
  }
  return fmt::format(
      "{} {:>20} {:>11} {:>11} {:>11} {:>12} {:>6} {:>7}{}\n", way, row.get("host"),
      scaled(row.get("seconds_median"), 1e3, 3), scaled(row.get("seconds_ci_low"), 1e3, 3),
      scaled(row.get("seconds_ci_high"), 1e3, 3), scaled(row.get("images_per_s"), 1, 1),
      scaled(row.get("mfu"), 1, 2), row.get("repetitions"), row.get("converged") == "1" ? "" : "*");
}

}  // namespace scalebench
