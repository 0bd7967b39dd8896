// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/imported_case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "bench/measure/statistics.hpp"
#include "bench/record/columns.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

/// Columns that statistics, ids and rates come from, never a user.
constexpr std::string_view kMade =
    "run_id case_id origin status rank launches repetitions seconds seconds_median "
    "seconds_ci_low seconds_ci_high interval converged skew_seconds busbw_gb_per_s "
    "bound_busbw_gb_per_s native_ratio native_ratio_ci_low native_ratio_ci_high native_verdict "
    "images_per_s_ci_low images_per_s_ci_high gb_per_s gflop_per_s images_per_s";

constexpr std::array<std::string_view, 9> kCounts{"size_bytes", "ranks",        "nodes",
                                                  "batch",      "global_batch", "samples",
                                                  "threads",    "share_of",     "epochs_to_target"};

/// Of ranks, and of what is counted by them: above what anybody has, and what an int holds.
constexpr std::uint64_t kMostRanks = 1U << 24U;

constexpr std::array<std::string_view, 2> kShares{"test_accuracy", "target_accuracy"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> values_of(std::string_view text, std::size_t files) {
  std::vector<std::string> values;
  for (std::size_t begin = 0, end = 0; end < text.size(); begin = end + 1) {
    end = std::min(text.find(',', begin), text.size());
    values.emplace_back(text.substr(begin, end - begin));
  }
  if (values.size() > 1 && values.size() == files) return values;
  return std::vector<std::string>(files, std::string(text));
}

}  // namespace

std::vector<std::string_view> describing_columns(const Schema& schema) {
  static const std::vector<std::string_view> made = words_of(kMade);
  std::vector<std::string_view> columns(schema.columns.begin(), schema.columns.end());
  std::erase_if(columns, [](std::string_view column) { return is_one_of(made, column); });
  return columns;
}

void require_value(std::string_view place, std::string_view column, std::string_view value) {
  if (value.empty()) fail<UsageError>("{}: {} is empty", place, column);
  if (is_one_of(kCounts, column) && !is_count(value)) {
    fail<UsageError>("{}: {}: '{}' is not a positive whole number", place, column, value);
  }
  const bool of_ranks = column == "ranks" || column == "nodes";
  if (of_ranks && read_number<std::uint64_t>(value).value_or(0) > kMostRanks) {
    fail<UsageError>("{}: {}: {} is more than {}", place, column, value, kMostRanks);
  }
  const bool number =
      column.ends_with("_seconds") || column.ends_with("_loss") || is_one_of(kShares, column);
  const std::optional<double> found = decimal_of(value);
  if (number && !found) fail<UsageError>("{}: {}", place, no_number(column, value));
  if (is_one_of(kShares, column) && (*found < 0 || *found > 1)) {
    fail<UsageError>("{}: {} is {}, and a share is from 0 to 1", place, column, value);
  }
}

bool is_count_column(std::string_view column) { return is_one_of(kCounts, column); }

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

namespace {

using Unit = std::pair<std::string_view, double>;

constexpr Unit kTimes[]{{"s", 1},     {"s/step", 1}, {"ms", 1e-3}, {"us", 1e-6},
                        {"ns", 1e-9}, {"min", 60},   {"h", 3600}};
// MB could be 10^6 or 2^20 and is none of them.
constexpr Unit kSizes[]{{"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}};
constexpr Unit kRates[]{{"GB/s", 1},         {"MB/s", 1e-3},         {"kB/s", 1e-6},
                        {"B/s", 1e-9},       {"GiB/s", 1.073741824}, {"MiB/s", 1.048576e-3},
                        {"Gbit/s", 1.0 / 8}, {"Mbit/s", 1e-3 / 8}};
constexpr Unit kPerSecond[]{{"1/s", 1},      {"1/min", 1.0 / 60}, {"1/h", 1.0 / 3600},
                            {"images/s", 1}, {"samples/s", 1},    {"tokens/s", 1}};
constexpr Unit kShareUnits[]{{"1", 1}, {"%", 0.01}};

std::span<const Unit> units_of(std::string_view column) {
  if (column == "seconds" || column.ends_with("_seconds")) return kTimes;
  if (column.ends_with("_bytes")) return kSizes;
  if (column.ends_with("gb_per_s")) return kRates;
  if (column == "images_per_s") return kPerSecond;
  if (column.ends_with("_accuracy")) return kShareUnits;
  return {};
}

/// What a rate needs beside it to give a time.
std::string_view needed_for_seconds(const Schema& schema) {
  if (schema.file == epoch_schema().file) return "samples (the images of one epoch)";
  if (schema.file == throughput_schema().file) {
    return "batch (images of one rank in one step) and ranks";
  }
  return "size_bytes and several ranks";
}

}  // namespace

bool is_training(const Schema& schema) {
  return schema.file == epoch_schema().file || schema.file == throughput_schema().file;
}

std::vector<std::string_view> value_columns(const Schema& schema) {
  if (is_training(schema)) return {"seconds", "images_per_s"};
  return {"seconds", "algbw_gb_per_s", "busbw_gb_per_s"};
}

bool carries_values(const Schema& schema, std::string_view column) {
  return is_one_of(value_columns(schema), column);
}

double unit_factor(std::string_view place, std::string_view column, std::string_view unit) {
  if (unit.empty()) return 1;
  const std::span<const Unit> units = units_of(column);
  std::vector<std::string_view> valid;
  for (const auto& [name, factor] : units) {
    if (name == unit) return factor;
    valid.push_back(name);
  }
  if (valid.empty()) fail<UsageError>("{}: {} has no unit, so not '{}'", place, column, unit);
  fail<UsageError>("{}: {}", place, unknown_name("unit", unit, valid));
}

double seconds_behind(std::string_view place, const ResultRow& row, std::string_view column,
                      double value) {
  const double ranks = number_in(row, "ranks"), bytes = number_in(row, "size_bytes");
  double seconds = 0;
  if (column == "seconds") {
    seconds = value;
  } else if (column == "algbw_gb_per_s") {
    seconds = bytes / value * 1e-9;
  } else if (column == "busbw_gb_per_s") {
    // The time at which this many bytes have that busbw: both bandwidths go as 1/seconds.
    const bool is_known = ranks >= 1 && ranks <= static_cast<double>(kMostRanks);
    seconds = is_known ? busbw_gb_per_s(bytes, value, static_cast<int>(ranks)) : 0;
  } else if (row.schema().file == epoch_schema().file) {
    seconds = number_in(row, "samples") / value;
  } else {
    seconds = number_in(row, "batch") * ranks / value;
  }
  if (std::isfinite(seconds) && seconds > 0) return seconds;
  fail<UsageError>("{}: {} gives no time without {}; add --set", place, column,
                   needed_for_seconds(row.schema()));
}

namespace {

constexpr double kSamplesOfImagenet = 1281167;
constexpr std::pair<std::string_view, double> kSamples[]{{"imagenet", kSamplesOfImagenet},
                                                         {"mnist", 60000},
                                                         {"fashion-mnist", 60000},
                                                         {"cifar10", 50000},
                                                         {"cifar100", 50000}};

/// Sets `column` to a quotient or product that is a whole number, where it is empty.
void set_whole(ResultRow& row, std::string_view column, double value) {
  const bool whole = value > 0 && std::abs(value - std::round(value)) < 1e-9;
  if (whole && row.get(column).empty()) row.set(column, std::llround(value));
}

}  // namespace

void complete_training(ResultRow& row) {
  if (row.schema().file != epoch_schema().file) return;
  const double ranks = number_in(row, "ranks");
  for (const auto& [dataset, samples] : kSamples) {
    if (row.get("dataset") == dataset) set_whole(row, "samples", samples);
  }
  set_whole(row, "global_batch", number_in(row, "batch") * ranks);
  set_whole(row, "batch", number_in(row, "global_batch") / ranks);
  if (ranks == 1) set_where_empty(row, "gradient_sync", "one_device");
}

namespace {

// Far above what anybody has published of one device (configs/published.csv), far below what a step
// makes of an epoch; images of 28 x 28 are some hundred times smaller than those of ImageNet.
constexpr double kFastestOnImagenet = 50'000;
constexpr double kFastestOnAnything = 10'000'000;

}  // namespace

void require_possible(const ImportedCase& one, std::string_view place) {
  if (one.row.schema().file != epoch_schema().file || one.seconds.empty()) return;
  const double seconds = median_of(one.seconds);
  const double ranks = std::max(1.0, number_in(one.row, "ranks"));
  const double rate = number_in(one.row, "samples") / seconds / ranks;
  const bool imagenet = number_in(one.row, "samples") == kSamplesOfImagenet;
  const double fastest = imagenet ? kFastestOnImagenet : kFastestOnAnything;
  if (!(rate > fastest)) return;
  fail<UsageError>(
      "{}: epochs of {:g} s and {} images would be {:.0f} images/s on each rank, and no device "
      "comes near {:.0f}; are these steps? write --bench throughput, or bench = \"throughput\" in "
      "a map",
      place, seconds, one.row.get("samples"), rate, fastest);
}

std::string check_states(ImportedCase& one) {
  constexpr std::array<const char*, 2> kMustBeThere{"compute_seconds", "transfer_seconds"};
  constexpr std::array<const char*, 2> kMayBeThere{"input_seconds", "evaluation_seconds"};
  double parts = 0;
  for (const char* const state : kMustBeThere) parts += number_in(one.row, state);
  if (one.seconds.empty() || std::isnan(parts)) return "";
  for (const char* const state : kMayBeThere) {
    set_where_empty(one.row, state, "0");
    parts += number_in(one.row, state);
  }
  const double mean = summarise(one.seconds).mean;
  constexpr double kRounding = 0.01;  // of what a log prints
  if (parts <= (1 + kRounding) * mean) return "";
  for (const char* const state : kMustBeThere) one.row.set(state, "");
  return fmt::format("the parts of an epoch sum to {:g} s, and it takes {:g} s", parts, mean);
}

}  // namespace scalebench
