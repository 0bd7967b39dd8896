// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/settings.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "bench/study/collect.hpp"
#include "kernels/error.hpp"
#include "kernels/unknown_name.hpp"

namespace scalebench {
namespace {

/// Columns that statistics, ids and rates come from, never a user.
const std::set<std::string_view> kMade{"schema_version",
                                       "run_id",
                                       "case_id",
                                       "origin",
                                       "status",
                                       "launches",
                                       "repetitions",
                                       "seconds_median",
                                       "seconds_ci_low",
                                       "seconds_ci_high",
                                       "interval",
                                       "seconds_min",
                                       "seconds_p5",
                                       "seconds_p95",
                                       "seconds_max",
                                       "seconds_mean",
                                       "outliers",
                                       "converged",
                                       "algbw_gb_per_s",
                                       "busbw_gb_per_s",
                                       "busbw_ci_low_gb_per_s",
                                       "busbw_ci_high_gb_per_s",
                                       "images_per_s_ci_low",
                                       "images_per_s_ci_high",
                                       "gb_per_s",
                                       "gflop_per_s",
                                       "images_per_s",
                                       "wrong"};

constexpr std::array<std::string_view, 16> kCounts{
    "size_bytes",    "count",      "ranks",  "nodes",      "batch",
    "global_batch",  "samples",    "epochs", "parameters", "threads",
    "workers",       "operations", "bytes",  "share_of",   "epochs_to_target",
    "loader_threads"};

constexpr std::array<std::string_view, 2> kShares{"test_accuracy", "target_accuracy"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> values_of(std::string_view text, std::size_t files) {
  const auto parts = 1 + static_cast<std::size_t>(std::ranges::count(text, ','));
  std::vector<std::string> values;
  if (parts == 1 || parts != files) return std::vector<std::string>(files, std::string(text));
  while (values.size() < files) {
    const std::size_t end = std::min(text.find(','), text.size());
    values.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return values;
}

}  // namespace

std::vector<std::string_view> describing_columns(const Schema& schema) {
  std::vector<std::string_view> columns;
  for (const std::string& column : schema.columns) {
    if (!kMade.contains(column)) columns.push_back(column);
  }
  return columns;
}

void require_value(std::string_view place, std::string_view column, std::string_view value) {
  if (value.empty()) fail<UsageError>("{}: {} is empty", place, column);
  if (is_one_of(kCounts, column) && !is_count(value)) {
    fail<UsageError>("{}: {}: '{}' is not a positive whole number", place, column, value);
  }
  const bool number = column.ends_with("_seconds") || column == "learning_rate" ||
                      column == "flops" || column.ends_with("_loss") || is_one_of(kShares, column);
  const std::optional<double> found = decimal_of(value);
  if (number && !found) fail<UsageError>("{}: {}", place, no_number(column, value));
  if (is_one_of(kShares, column) && (*found < 0 || *found > 1)) {
    fail<UsageError>("{}: {} is {}, and a share is from 0 to 1", place, column, value);
  }
}

std::vector<Settings> parse_settings(const std::vector<std::string>& texts, const Schema& schema,
                                     std::size_t files) {
  const std::vector<std::string_view> valid = describing_columns(schema);
  std::vector<Settings> all(files);
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      fail<UsageError>("--set {}: write column=value, as ranks=4", text);
    }
    const std::string column = text.substr(0, equals);
    if (!is_one_of(valid, column)) {
      fail<UsageError>("--set {}: {}", text, unknown_name("column", column, valid));
    }
    const std::vector<std::string> values =
        values_of(std::string_view(text).substr(equals + 1), files);
    for (std::size_t i = 0; i < files; ++i) {
      require_value("--set " + text, column, values[i]);
      if (!setting(all[i], column).empty()) fail<UsageError>("--set {}: set twice", text);
      all[i].emplace_back(column, values[i]);
    }
  }
  return all;
}

void apply(const Settings& settings, ResultRow& row, const std::string& file) {
  for (const auto& [column, value] : settings) {
    const std::string& said = row.get(column);
    if (!said.empty() && said != value) {
      fail<UsageError>("--set {}={}: {} says {}", column, value, file, said);
    }
    row.set(column, value);
  }
}

void set_where_empty(ResultRow& row, std::string_view column, std::string_view value) {
  if (row.get(column).empty()) row.set(column, value);
}

std::string setting(const Settings& settings, std::string_view column) {
  for (const auto& [name, value] : settings) {
    if (name == column) return value;
  }
  return "";
}

}  // namespace scalebench
