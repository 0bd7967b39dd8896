// SPDX-License-Identifier: Apache-2.0
#include "bench/study/import/value_column.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <span>
#include <utility>

#include "bench/study/bandwidth.hpp"
#include "bench/study/collect.hpp"
#include "kernels/error.hpp"
#include "kernels/unknown_name.hpp"

namespace scalebench {
namespace {

using Unit = std::pair<std::string_view, double>;

constexpr Unit kTimes[]{{"s", 1},     {"ms", 1e-3}, {"us", 1e-6},
                        {"ns", 1e-9}, {"min", 60},  {"h", 3600}};
// MB could be 10^6 or 2^20 and is none of them.
constexpr Unit kSizes[]{{"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}};
constexpr Unit kRates[]{{"GB/s", 1},         {"MB/s", 1e-3},         {"kB/s", 1e-6},
                        {"B/s", 1e-9},       {"GiB/s", 1.073741824}, {"MiB/s", 1.048576e-3},
                        {"Gbit/s", 1.0 / 8}, {"Mbit/s", 1e-3 / 8}};
constexpr Unit kPerSecond[]{{"1/s", 1}, {"1/min", 1.0 / 60}, {"1/h", 1.0 / 3600}};
constexpr Unit kShares[]{{"1", 1}, {"%", 0.01}};

std::span<const Unit> units_of(std::string_view column) {
  if (column == "seconds" || column.ends_with("_seconds")) return kTimes;
  if (column == "bytes" || column.ends_with("_bytes")) return kSizes;
  if (column.ends_with("gb_per_s")) return kRates;
  if (column == "images_per_s") return kPerSecond;
  if (column.ends_with("_accuracy")) return kShares;
  return {};
}

bool is(const ResultRow& row, const Schema& schema) { return row.schema().file == schema.file; }

std::optional<double> positive(double value) {
  if (std::isfinite(value) && value > 0) return value;
  return std::nullopt;
}

}  // namespace

std::vector<std::string_view> value_columns(const Schema& schema) {
  if (schema.file == allreduce_schema().file)
    return {"seconds", "algbw_gb_per_s", "busbw_gb_per_s"};
  if (schema.file == kernels_schema().file) return {"seconds", "gb_per_s"};
  return {"seconds", "images_per_s"};
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

std::optional<double> seconds_behind(const ResultRow& row, std::string_view column, double value) {
  if (column == "seconds") return value;
  if (column == "algbw_gb_per_s") return positive(number_in(row, "size_bytes") / value * 1e-9);
  if (column == "busbw_gb_per_s") {
    // The time at which this many bytes have that busbw: both bandwidths go as 1/seconds.
    const auto ranks = static_cast<int>(number_in(row, "ranks"));
    return positive(busbw_gb_per_s(number_in(row, "size_bytes"), value, ranks));
  }
  if (column == "gb_per_s") return positive(number_in(row, "bytes") / value * 1e-9);
  if (is(row, epoch_schema())) return positive(number_in(row, "samples") / value);
  const double steps = row.get("rank") == "all" ? number_in(row, "ranks") : 1;
  return positive(number_in(row, "batch") * steps / value);
}

std::string_view needed_for_seconds(const Schema& schema) {
  if (schema.file == epoch_schema().file) return "samples (the images of one epoch)";
  if (schema.file == throughput_schema().file) return "batch (images of one rank in one step)";
  if (schema.file == kernels_schema().file) return "bytes";
  return "size_bytes and ranks";
}

}  // namespace scalebench
