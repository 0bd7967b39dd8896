// SPDX-License-Identifier: Apache-2.0
#include "bench/study/cell.hpp"

#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

#include "bench/study/layout.hpp"

namespace scalebench {
namespace {

constexpr double kLatencyBelowBytes = 64 * 1024;

CellFamily family_of(const ResultRow& row) {
  const std::string_view file = row.schema().file;
  if (file == epoch_schema().file) return CellFamily::epoch;
  if (file == throughput_schema().file) return CellFamily::throughput;
  const bool small =
      file == allreduce_schema().file && number_in(row, "size_bytes") < kLatencyBelowBytes;
  return small ? CellFamily::latency : CellFamily::bandwidth;
}

/// "epoch.csv" -> "epoch".
std::string bench_of(const ResultRow& row) {
  const std::string_view file = row.schema().file;
  return std::string(file.substr(0, file.find('.')));
}

/// Whole binary units where the number is one: sizes are powers of two mostly.
std::string size_text(const std::string& cell) {
  std::uint64_t size = std::stoull(cell);
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && size >= 1024 && size % 1024 == 0) {
    size /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", size, kUnits[unit]);
}

/// NaN for what is no number, "N/A" as well as nothing: no time, whatever was meant by it.
double number_or_none(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool whole = error == std::errc() && stop == end && std::isfinite(value);
  return whole ? value : std::numeric_limits<double>::quiet_NaN();
}

void add(Cell& cell, const ResultRow& row) {
  const std::string& status = row.get("status");
  const double median = number_or_none(row.get("seconds_median"));
  if (status == "ok" && median > 0) {
    cell.seconds.push_back(median);
    if (cell.status == "skipped") cell.status = "ok";
  } else if (status != "skipped") {
    // A row without a time that is not even positive is no measurement, whatever it calls itself.
    cell.status = status == "ok" ? "wrong" : status;
    cell.note = row.get("note");
    if (status == "ok" && cell.note.empty()) {
      cell.note = fmt::format("seconds_median is '{}'", row.get("seconds_median"));
    }
  } else if (cell.status == "ok" && cell.seconds.empty()) {
    cell.status = status;
    cell.note = row.get("note");
  }
}

}  // namespace

std::string_view name_of(CellFamily family) {
  constexpr std::array<std::string_view, 4> kNames{"latency", "bandwidth", "throughput", "epoch"};
  return kNames.at(static_cast<std::size_t>(family));
}

std::vector<Cell> cells_of(const std::vector<LaunchRows>& launches) {
  std::vector<Cell> cells;
  std::map<std::string, std::size_t> place_of;
  for (const LaunchRows& launch : launches) {
    for (const ResultRow& row : launch.cases) {
      const std::string rank = text_in(row, "rank");
      if (!rank.empty() && rank != "all") continue;
      const std::string key =
          fmt::format("{}/{}/{}", bench_of(row), row.get("case_id"),
                      ranks_words(text_in(row, "ranks"), text_in(row, "nodes")));
      const auto [found, is_new] = place_of.emplace(key, cells.size());
      if (is_new) cells.push_back({key, family_of(row), row, {}, "ok", ""});
      add(cells[found->second], row);
    }
  }
  return cells;
}

std::vector<Cell> cells_of(const StoredRun& run) {
  std::vector<Cell> all;
  for (const Schema* const schema : case_schemas()) {
    std::vector<Cell> some = cells_of(run.launches_of(*schema));
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

std::string label_of(const ResultRow& row) {
  std::vector<std::string> words{bench_of(row)};
  constexpr std::array<std::string_view, 11> kWords{
      "kernel", "algorithm", "model",     "gradient_sync", "allreduce", "transport",
      "dtype",  "op",        "placement", "scaling",       "cache"};
  for (const std::string_view column : kWords) {
    const std::string text = text_in(row, column);
    // What nearly every row has says nothing.
    const bool usual =
        text.empty() || text == "float" || text == "sum" || text == "in_place" || text == "warm";
    if (!usual) words.push_back(text);
  }
  const auto add = [&](std::string_view column, std::string_view before) {
    const std::string text = text_in(row, column);
    if (!text.empty()) words.push_back(fmt::format("{}{}", before, text));
  };
  add("batch", "batch ");
  const std::string size = text_in(row, "size_bytes") + text_in(row, "bytes");
  if (!size.empty()) words.push_back(size_text(size));
  if (text_in(row, "share_of") != "1") add("share_of", "share of ");
  const std::string ranks = ranks_words(text_in(row, "ranks"), text_in(row, "nodes"));
  if (!ranks.empty()) words.push_back(fmt::format("N={}", ranks));
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace scalebench
