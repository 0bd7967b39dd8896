// SPDX-License-Identifier: Apache-2.0
#include "bench/study/metric_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/study/collect.hpp"

namespace scalebench {
namespace {

struct Metric {
  const Schema& schema;
  std::string_view name;
  std::string_view column;
  std::vector<std::string_view> labels;
};

const std::vector<Metric>& metrics() {
  static const std::vector<std::string_view> kEpoch{
      "model", "gradient_sync", "scaling", "allreduce", "transport", "ranks", "origin"};
  static const std::vector<Metric> kMetrics{
      {scaling_schema(), "efficiency", "efficiency", kEpoch},
      {scaling_schema(), "speedup", "speedup", kEpoch},
      {scaling_schema(), "epoch_seconds", "seconds_median", kEpoch},
      {throughput_schema(), "images_per_s", "images_per_s", {"model", "batch", "ranks", "origin"}},
      {allreduce_schema(),
       "busbw_gb_per_s",
       "busbw_gb_per_s",
       {"algorithm", "transport", "memory", "dtype", "size_bytes", "ranks", "origin"}}};
  return kMetrics;
}

/// Empty cells too must be words.
std::string word_of(std::string text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";
  std::ranges::replace_if(
      text, [&](char c) { return kPlain.find(c) == std::string_view::npos; }, '_');
  return text.empty() ? "none" : text;
}

bool counts(const ResultRow& row) {
  if (row.get("status") != "ok") return false;
  return &row.schema() != &throughput_schema() || row.get("rank") == "all";
}

}  // namespace

std::string metric_lines(const std::vector<ResultRow>& rows) {
  std::string lines;
  for (const ResultRow& row : rows) {
    for (const Metric& metric : metrics()) {
      if (&row.schema() != &metric.schema || !counts(row)) continue;
      const std::string value = row.get(metric.column);
      if (value.empty()) continue;
      lines += fmt::format("scalebench: metric={}", metric.name);
      for (const std::string_view label : metric.labels) {
        lines += fmt::format(" {}={}", label, word_of(row.get(label)));
      }
      lines += fmt::format(" value={}\n", value);
    }
  }
  return lines;
}

std::string metric_lines(const std::filesystem::path& run) {
  std::string lines;
  for (const Schema* schema : {&scaling_schema(), &throughput_schema(), &allreduce_schema()}) {
    lines += metric_lines(rows_in(run, *schema));
  }
  return lines;
}

}  // namespace scalebench
