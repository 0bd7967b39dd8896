// SPDX-License-Identifier: Apache-2.0
#include "bench/throughput_row.hpp"

#include <algorithm>

#include "bench/number_text.hpp"
#include "bench/statistics_columns.hpp"
#include "collectives/control.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

std::string canonical(const ThroughputOptions& options, const ThroughputResult& result) {
  const TrainerOptions& trainer = result.trainer;
  return fmt::format(
      "throughput model={} device={} dtype=float threads={} dataset={} batch={} "
      "optimizer={} seed={}",
      trainer.model, device_label(options.training.trainer), trainer.threads, trainer.dataset,
      trainer.batch, trainer.optimizer, trainer.seed);
}

ResultRow row_for(const ThroughputOptions& options, const ThroughputResult& result,
                  const Recorder& recorder, const Summary& summary) {
  ResultRow row = recorder.case_row(canonical(options, result));
  row.set("status", "ok").set("model", result.trainer.model).set("parameters", result.parameters);
  row.set("device", device_label(options.training.trainer)).set("dtype", "float");
  row.set("threads", result.trainer.threads).set("batch", result.trainer.batch);
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
  std::vector<Summary> summaries;
  for (const auto& seconds : result.step_seconds) summaries.push_back(summarise(seconds));
  std::vector<ResultRow> rows;
  double images = 0, images_low = 0, images_high = 0;
  const auto batch = static_cast<double>(result.trainer.batch);
  for (std::size_t rank = 0; rank < summaries.size(); ++rank) {
    rows.push_back(row_for(options, result, recorder, summaries[rank]));
    rows.back().set("rank", rank).set("host", hosts[rank]).set("nodes", nodes);
    images += batch / summaries[rank].median;
    images_low += batch / summaries[rank].ci_high;
    images_high += batch / summaries[rank].ci_low;
  }
  const auto slowest = std::ranges::max_element(summaries, {}, &Summary::median);
  ResultRow all = row_for(options, result, recorder, *slowest);
  all.set("rank", "all").set("nodes", nodes).set("images_per_s", images);
  all.set("images_per_s_ci_low", images_low).set("images_per_s_ci_high", images_high);
  rows.push_back(all);
  return rows;
}

std::vector<ResultRow> samples_of(const ThroughputOptions& options, const ThroughputResult& result,
                                  const Recorder& recorder) {
  std::vector<ResultRow> rows;
  for (std::size_t rank = 0; rank < result.step_seconds.size(); ++rank) {
    for (std::size_t i = 0; i < result.step_seconds[rank].size(); ++i) {
      ResultRow& row =
          rows.emplace_back(recorder.sample_row(canonical(options, result), "throughput"));
      row.set("rank", rank).set("repetition", i).set("seconds", result.step_seconds[rank][i]);
      row.set("samples", result.trainer.batch);
    }
  }
  return rows;
}

std::string throughput_head(const ThroughputOptions& options, const ThroughputResult& result) {
  if (options.training.format == "csv") return csv_header(throughput_schema());
  if (options.training.format == "json") return "";
  std::string head = fmt::format(
      "# scalebench throughput: {} ({} parameters), {} images a step and rank, {} thread(s), {}\n"
      "# full training steps without synchronisation, all ranks at once; * interval wider than 1 "
      "%\n",
      result.trainer.model, result.parameters, result.trainer.batch, result.trainer.threads,
      result.trainer.dataset);
  return head + fmt::format("{:>6} {:>20} {:>11} {:>11} {:>11} {:>12} {:>7}\n", "rank", "host",
                            "step (ms)", "low (ms)", "high (ms)", "images/s", "steps");
}

std::string throughput_line(const ResultRow& row, const std::string& format) {
  if (format == "csv") return csv_line(row);
  if (format == "json") return json_line(row);
  return fmt::format(
      "{:>6} {:>20} {:>11} {:>11} {:>11} {:>12} {:>7}{}\n", row.get("rank"), row.get("host"),
      scaled(row.get("seconds_median"), 1e3, 3), scaled(row.get("seconds_ci_low"), 1e3, 3),
      scaled(row.get("seconds_ci_high"), 1e3, 3), scaled(row.get("images_per_s"), 1, 1),
      row.get("repetitions"), row.get("converged") == "1" ? "" : "*");
}

}  // namespace scalebench
