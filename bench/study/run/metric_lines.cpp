// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/record/columns.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/run/result_text.hpp"

namespace scalebench {
namespace {

/// Those of one file.
struct Metrics {
  const Schema& schema;
  std::vector<std::string_view> labels;
  std::vector<std::pair<std::string_view, std::string_view>> columns;  // behind the metric's name
};

const std::vector<Metrics>& metrics() {
  static const std::vector<Metrics> kMetrics{
      {scaling_schema(),
       {"model", "gradient_sync", "scaling", "ranks", "origin"},
       {{"efficiency", "efficiency"},
        {"speedup", "speedup"},
        {"epoch_seconds", "measured_seconds"}}},
      {throughput_schema(),
       {"model", "batch", "ranks", "origin"},
       {{"images_per_s", "images_per_s"}}},
      {allreduce_schema(),
       {"algorithm", "transport", "memory", "pages", "register", "dtype", "size_bytes", "ranks",
        "origin"},
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

/// " model=mlp ... origin=measured" of each row. Where several would have the same, what they
/// differ in follows; of cases that no column tells apart, the id.
std::vector<std::string> metric_labels(const Metrics& metrics,
                                       const std::vector<const ResultRow*>& rows) {
  const auto label = [](const ResultRow& row, std::string_view column) {
    return fmt::format(" {}={}", column, word_of(row.get(column)));
  };
  std::vector<std::string> labels;
  for (const ResultRow* const row : rows) {
    std::string& text = labels.emplace_back();
    for (const std::string_view column : metrics.labels) {
      // Usual pages and an ordinary registration go without saying.
      if (column == "pages" && row->get(column) != "huge") continue;
      if (column == "register" && (row->get(column).empty() || row->get(column) == "1")) continue;
      text += label(*row, column);
    }
  }
  const auto parameters = differing_parameters(rows, labels);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const std::string_view column : parameters[i]) {
      const bool there = std::ranges::find(metrics.labels, column) != metrics.labels.end();
      if (!there) labels[i] += label(*rows[i], column);
    }
  }
  std::map<std::string, int> times;
  for (const std::string& text : labels) ++times[text];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (times.at(labels[i]) > 1) labels[i] += label(*rows[i], "case_id");
  }
  return labels;
}

}  // namespace

std::string metric_lines(const std::vector<ResultRow>& rows) {
  std::string lines;
  for (const Metrics& of_file : metrics()) {
    std::vector<const ResultRow*> counting;
    for (const ResultRow& row : rows) {
      if (&row.schema() == &of_file.schema && counts(row)) counting.push_back(&row);
    }
    const std::vector<std::string> labels = metric_labels(of_file, counting);
    for (std::size_t i = 0; i < counting.size(); ++i) {
      for (const auto& [name, column] : of_file.columns) {
        const std::string& value = counting[i]->get(column);
        if (value.empty()) continue;
        lines += fmt::format("scalebench: metric={}{} value={}\n", name, labels[i], value);
      }
    }
  }
  return lines;
}

}  // namespace scalebench
