// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/record/columns.hpp"
#include "bench/study/run/result_text.hpp"

namespace scalebench {
namespace {

/// Those of one file. What a metric's labels leave open, its case_id tells.
struct Metrics {
  const Schema& schema;
  std::vector<std::string_view> labels;
  std::vector<std::pair<std::string_view, std::string_view>> columns;  // behind the metric's name
};

const std::vector<Metrics>& metrics() {
  static const std::vector<Metrics> kMetrics{
      {scaling_schema(),
       {"model", "gradient_sync", "scaling", "ranks", "nodes", "origin", "case_id"},
       {{"efficiency", "efficiency"},
        {"speedup", "speedup"},
        {"epoch_seconds", "measured_seconds"}}},
      {throughput_schema(),
       {"model", "batch", "ranks", "nodes", "origin", "case_id"},
       {{"images_per_s", "images_per_s"}}},
      {allreduce_schema(),
       {"algorithm", "transport", "memory", "dtype", "size_bytes", "ranks", "nodes", "origin",
        "case_id"},
       {{"busbw_gb_per_s", "busbw_gb_per_s"}}}};
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
  for (const Metrics& of_file : metrics()) {
    for (const ResultRow& row : rows) {
      if (&row.schema() != &of_file.schema || !counts(row)) continue;
      std::string labels;
      for (const std::string_view column : of_file.labels) {
        labels += fmt::format(" {}={}", column, word_of(row.get(column)));
      }
      for (const auto& [name, column] : of_file.columns) {
        const std::string& value = row.get(column);
        if (value.empty()) continue;
        lines += fmt::format("scalebench: metric={}{} value={}\n", name, labels, value);
      }
    }
  }
  return lines;
}

}  // namespace scalebench
