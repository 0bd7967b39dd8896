// SPDX-License-Identifier: Apache-2.0
#include "bench/throughput_row.hpp"

#include <algorithm>

#include "bench/device_columns.hpp"
#include "bench/number_text.hpp"
#include "bench/record/emulation.hpp"
#include "bench/study/statistics_columns.hpp"
#include "collectives/control.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

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
  return row.set("threads", result.trainer.threads).set("batch", result.trainer.batch);
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
                               const ThroughputResult& result, const Recorder& recorder) {
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
    images += batch / summaries[rank].median;
    images_low += batch / summaries[rank].ci_high;
    images_high += batch / summaries[rank].ci_low;
  }
  const auto slowest = std::ranges::max_element(summaries, {}, &Summary::median);
  ResultRow all = row_for(options, result, recorder, *slowest);
  all.set("rank", "all").set("nodes", nodes).set("images_per_s", images);
  all.set("images_per_s_ci_low", images_low).set("images_per_s_ci_high", images_high);
  set_spells(all, spells);
  rows.push_back(all);
  return rows;
}

ResultRow skipped_row(const Ranks& ranks, const ThroughputOptions& options, const std::string& why,
                      const Recorder& recorder) {
  ThroughputResult result;
  result.trainer = resolved(options.training.trainer, ranks.session.size());
  ResultRow row = described(options, result, recorder);
  row.set("status", "skipped").set("note", why).set("rank", "all");
  return row.set("nodes", ranks.host.topology().nodes());
}

std::vector<ResultRow> samples_of(const ThroughputOptions& options, const ThroughputResult& result,
                                  const Recorder& recorder) {
  std::vector<ResultRow> rows;
  if (!result.failure.empty()) return rows;
  for (std::size_t rank = 0; rank < result.step_seconds.size(); ++rank) {
    for (std::size_t i = 0; i < result.step_seconds[rank].size(); ++i) {
      ResultRow& row =
          rows.emplace_back(recorder.sample_row(canonical(options, result), "throughput"));
      row.set("rank", rank).set("repetition", i).set("seconds", result.step_seconds[rank][i]);
      row.set("samples", result.trainer.batch);
      if (!result.spells[rank].empty()) set_spell(row, result.spells[rank][i]);
    }
  }
  return rows;
}

std::string throughput_head(const ThroughputOptions& options, const ThroughputResult& result) {
  if (options.training.format == "csv") return csv_header(throughput_schema());
  if (options.training.format == "json") return "";
  std::string head = fmt::format(
      "# scalebench throughput: {} ({} parameters) in {}, {} thread(s), {}\n"
      "# full training steps without synchronisation, all ranks at once; * interval wider than 1 "
      "%\n",
      result.trainer.choice.label, result.parameters, dtype_label(result.trainer.precision),
      result.trainer.threads, result.trainer.dataset);
  return head + emulation_line() +
         fmt::format("{:>7} {:>6} {:>20} {:>11} {:>11} {:>11} {:>12} {:>7}\n", "batch", "rank",
                     "host", "step (ms)", "low (ms)", "high (ms)", "images/s", "steps");
}

std::string throughput_line(const ResultRow& row, const std::string& format) {
  if (format == "csv") return csv_line(row);
  if (format == "json") return json_line(row);
  if (row.get("status") != "ok") {
    return fmt::format("{:>7} {:>6} {}: {}\n", row.get("batch"), row.get("rank"), row.get("status"),
                       row.get("note"));
  }
  return fmt::format("{:>7} {:>6} {:>20} {:>11} {:>11} {:>11} {:>12} {:>7}{}\n", row.get("batch"),
                     row.get("rank"), row.get("host"), scaled(row.get("seconds_median"), 1e3, 3),
                     scaled(row.get("seconds_ci_low"), 1e3, 3),
                     scaled(row.get("seconds_ci_high"), 1e3, 3),
                     scaled(row.get("images_per_s"), 1, 1), row.get("repetitions"),
                     row.get("converged") == "1" ? "" : "*");
}

}  // namespace scalebench
