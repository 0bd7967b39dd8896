// SPDX-License-Identifier: Apache-2.0
#include "bench/study/launch_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "bench/measure/statistics.hpp"
#include "bench/study/bandwidth.hpp"
#include "bench/study/statistics_columns.hpp"
#include "bench/study/utilisation.hpp"

namespace scalebench {
namespace {

using SamplesOfRank = std::map<std::string, std::vector<const ResultRow*>>;  // "": of all together

std::string key_of(const ResultRow& row) {
  const std::string ranks = text_in(row, "ranks");
  return row.get("case_id") + "/" + (ranks.empty() ? "1" : ranks);  // kernels have one
}

std::map<std::string, SamplesOfRank> samples_by_case(const LaunchRows& launch) {
  std::map<std::string, SamplesOfRank> by_case;
  for (const ResultRow& row : launch.samples) {
    by_case[key_of(row)][row.get("rank")].push_back(&row);
  }
  return by_case;
}

std::vector<double> column_of(const std::vector<const ResultRow*>& samples,
                              std::string_view column) {
  std::vector<double> values;
  for (const ResultRow* const sample : samples) values.push_back(number_in(*sample, column));
  return values;
}

void set_times(ResultRow& row, const Summary& summary) {
  const std::string converged = row.get("converged");
  set_statistics(row, summary, false);
  row.set("converged", converged);
}

std::string most_often_slowest(const std::vector<const ResultRow*>& samples) {
  std::map<int, int> times;
  for (const ResultRow* const sample : samples) {
    const double rank = number_in(*sample, "slowest_rank");
    if (!std::isnan(rank)) ++times[static_cast<int>(rank)];
  }
  if (times.empty()) return "";
  const auto most =
      std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; });
  return std::to_string(most->first);
}

void set_allreduce(ResultRow& row, const Summary& summary,
                   const std::vector<const ResultRow*>& samples, const FitModel& model) {
  const double bytes = number_in(row, "size_bytes"), count = number_in(row, "count");
  const double ranks = number_in(row, "ranks"), nodes = number_in(row, "nodes");
  const int p = static_cast<int>(ranks);
  row.set("algbw_gb_per_s", algbw_gb_per_s(bytes, summary.median));
  row.set("busbw_gb_per_s", busbw_gb_per_s(bytes, summary.median, p));
  row.set("busbw_ci_low_gb_per_s", busbw_gb_per_s(bytes, summary.ci_high, p));
  row.set("busbw_ci_high_gb_per_s", busbw_gb_per_s(bytes, summary.ci_low, p));
  // Nodes of unequal numbers of ranks would need the map of ranks, which no row has.
  const bool even = nodes > 0 && std::fmod(ranks, nodes) == 0;
  if (even && !row.get("wire_bw_gb_per_s").empty()) {
    const double sent = model.cost_of(row.get("algorithm"), ranks, count, ranks / nodes).sent_bytes;
    row.set("wire_bw_gb_per_s", wire_bw_gb_per_s(sent, bytes / count, summary.median));
  }
  row.set("skew_seconds", median_of(column_of(samples, "skew_seconds")));
  row.set("slowest_rank", most_often_slowest(samples));
}

struct ImagesPerSecond {
  double median = 0, low = 0, high = 0;
};

ImagesPerSecond images_of(const std::vector<const ResultRow*>& samples) {
  const Summary summary = summarise(column_of(samples, "seconds"));
  const double batch = samples.empty() ? std::nan("") : number_in(*samples.back(), "samples");
  return {batch / summary.median, batch / summary.ci_high, batch / summary.ci_low};
}

/// One rank's step, or the slowest rank's with the images of all.
void set_throughput(ResultRow& row, const SamplesOfRank& samples) {
  ImagesPerSecond images;
  const std::vector<const ResultRow*>* slowest = nullptr;
  double slowest_median = 0;
  const int ranks = static_cast<int>(number_in(row, "ranks"));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto found = samples.find(std::to_string(rank));
    if (found == samples.end()) continue;
    if (row.get("rank") != "all" && row.get("rank") != found->first) continue;
    const double median = median_of(column_of(found->second, "seconds"));
    if (slowest == nullptr || median > slowest_median) {
      slowest = &found->second;
      slowest_median = median;
    }
    const ImagesPerSecond one = images_of(found->second);
    images.median += one.median;
    images.low += one.low;
    images.high += one.high;
  }
  const std::vector<const ResultRow*> none;
  set_times(row, summarise(column_of(slowest == nullptr ? none : *slowest, "seconds")));
  row.set("images_per_s", slowest == nullptr ? std::nan("") : images.median);
  row.set("images_per_s_ci_low", slowest == nullptr ? std::nan("") : images.low);
  row.set("images_per_s_ci_high", slowest == nullptr ? std::nan("") : images.high);
  set_utilisation(row);
}

void set_epoch(ResultRow& row, const Summary& summary,
               const std::vector<const ResultRow*>& samples) {
  const double images = samples.empty() ? std::nan("") : number_in(*samples.back(), "samples");
  row.set("images_per_s", images > 0 ? images / summary.median : std::nan(""));
}

void set_kernel(ResultRow& row, const Summary& summary) {
  // Bytes and flops are empty where there are none, and so are their rates.
  row.set("gb_per_s", number_in(row, "bytes") / summary.median / 1e9);
  row.set("gflop_per_s", number_in(row, "flops") / summary.median / 1e9);
}

ResultRow recomputed(ResultRow row, const SamplesOfRank& by_rank, const FitModel& model) {
  const std::string_view file = row.schema().file;
  if (file == throughput_schema().file) {
    set_throughput(row, by_rank);
    return row;
  }
  const std::string rank = text_in(row, "rank");
  const auto found = by_rank.find(rank == "all" ? "" : rank);
  const std::vector<const ResultRow*> none;
  const auto& samples = found == by_rank.end() ? none : found->second;
  const Summary summary = summarise(column_of(samples, "seconds"));
  set_times(row, summary);
  if (file == allreduce_schema().file) set_allreduce(row, summary, samples, model);
  if (file == epoch_schema().file) set_epoch(row, summary, samples);
  if (file == kernels_schema().file) set_kernel(row, summary);
  return row;
}

}  // namespace

std::vector<ResultRow> recomputed_rows(const LaunchRows& launch, const FitModel& model) {
  const std::map<std::string, SamplesOfRank> samples = samples_by_case(launch);
  std::vector<ResultRow> rows;
  for (const ResultRow& row : launch.cases) {
    if (row.get("seconds_median").empty()) {
      rows.push_back(row);
      continue;
    }
    const auto found = samples.find(key_of(row));
    rows.push_back(
        recomputed(row, found == samples.end() ? SamplesOfRank() : found->second, model));
  }
  return rows;
}

}  // namespace scalebench
