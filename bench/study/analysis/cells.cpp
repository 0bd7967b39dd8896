// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "bench/launch/hosts.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/record/columns.hpp"
#include "bench/study/analysis/means.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

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

std::string key_of(const ResultRow& row) {
  return fmt::format("{}/{}/{}", row.schema().bench(), row.get("case_id"),
                     ranks_words(text_in(row, "ranks"), text_in(row, "nodes")));
}

/// NaN for what is no number, "N/A" as well as nothing: no time, whatever was meant by it.
double number_or_none(const std::string& text) {
  const double value = read_number<double>(text).value_or(std::nan(""));
  return std::isfinite(value) ? value : std::nan("");
}

double time_of(const ResultRow& row) { return number_or_none(row.get(time_column(row.schema()))); }

/// What the launch says of the cell's values and status.
void enter(Cell& cell, const CellLaunch& launch) {
  const std::string& status = launch.row.get("status");
  if (launch.ok()) {
    cell.seconds.push_back(time_of(launch.row));
    cell.rounds.push_back(launch.round);
    if (cell.status == "skipped") cell.status = "ok";
  } else if (status != "skipped") {
    // A row without a time that is not even positive is no measurement, whatever it calls itself.
    cell.status = status == "ok" ? "wrong" : status;
    cell.note = launch.row.get("note");
    if (status == "ok" && cell.note.empty()) {
      const std::string_view column = time_column(launch.row.schema());
      cell.note = fmt::format("{} is '{}'", column, launch.row.get(column));
    }
  } else if (cell.status == "ok" && cell.seconds.empty()) {
    cell.status = status;
    cell.note = launch.row.get("note");
  }
}

/// Only where a run has a case of two origins: runs of one origin each are to find each other.
void tell_origins_apart(std::vector<Cell>& cells) {
  std::map<std::string, std::set<std::string>> origins;
  for (const Cell& cell : cells) origins[cell.key].insert(cell.row.get("origin"));
  for (Cell& cell : cells) {
    const std::string& origin = cell.row.get("origin");
    if (origins.at(cell.key).size() > 1 && origin != "measured") cell.key += "/" + origin;
  }
}

/// A rank's own samples carry its number; those of all ranks together carry none.
std::string sample_key(const std::string& case_id, const std::string& ranks,
                       const std::string& rank) {
  return case_id + "/" + ranks + "/" + (rank == "all" ? "" : rank);
}

using SamplesByKey = std::map<std::string, std::vector<double>>;

/// Which rank's samples stand behind a row: in throughput.csv, `all` is the slowest rank's step.
std::string sampled_rank(const LaunchRows& launch, const ResultRow& row,
                         const SamplesByKey& samples) {
  std::string rank = text_in(row, "rank");
  if (row.schema().file != throughput_schema().file || rank != "all") return rank;
  // One rank has no row of its own; an import has no samples of it either.
  if (row.get("ranks") == "1") {
    return samples.contains(sample_key(row.get("case_id"), "1", "0")) ? "0" : rank;
  }
  for (const ResultRow& other : launch.cases) {
    const bool same = other.get("case_id") == row.get("case_id") && other.get("rank") != "all" &&
                      other.get("seconds_median") == row.get("seconds_median");
    if (same) return other.get("rank");
  }
  return rank;
}

SamplesByKey samples_of(const LaunchRows& launch) {
  SamplesByKey samples;
  for (const ResultRow& row : launch.samples) {
    samples[sample_key(row.get("case_id"), row.get("ranks"), row.get("rank"))].push_back(
        number_in(row, "seconds"));
  }
  return samples;
}

/// What cells are sorted by: launches are shuffled, but a table is read from its parameters down to
/// N, the size and the rank.
std::vector<std::pair<double, std::string>> order_of(const ResultRow& row) {
  constexpr std::array<std::string_view, 19> kOrder{
      "model",        "transport",  "memory",        "dtype",     "op",    "placement", "mode",
      "cache",        "register",   "scaling",       "dataset",   "ranks", "nodes",     "batch",
      "global_batch", "size_bytes", "gradient_sync", "algorithm", "rank"};
  std::vector<std::pair<double, std::string>> order;
  for (const std::string_view column : kOrder) {
    const std::string text = text_in(row, column);
    const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    order.emplace_back(number ? std::stod(text) : std::numeric_limits<double>::max(), text);
  }
  return order;
}

}  // namespace

bool CellLaunch::ok() const { return row.get("status") == "ok" && time_of(row) > 0; }

bool Cell::is_whole() const {
  const std::string rank = text_in(row, "rank");
  return rank.empty() || rank == "all";
}

std::string_view Cell::case_key() const {
  const std::string origin = "/" + row.get("origin");
  std::string_view its = key;
  if (its.ends_with(origin)) its.remove_suffix(origin.size());
  return its;
}

std::map<int, double> Cell::seconds_by_round() const {
  std::map<int, double> values;
  for (std::size_t i = 0; i < seconds.size(); ++i) values.emplace(rounds[i], seconds[i]);
  return values;
}

std::map<int, double> Cell::by_round(std::string_view column) const {
  std::map<int, double> values;
  for (const CellLaunch& launch : launches) {
    const double value = launch.ok() ? number_in(launch.row, column) : std::nan("");
    if (!std::isnan(value)) values.emplace(launch.round, value);
  }
  return values;
}

std::vector<Cell> cells_of(const std::vector<LaunchRows>& launches) {
  std::vector<Cell> cells;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
  for (const LaunchRows& launch : launches) {
    const SamplesByKey samples = samples_of(launch);
    for (const ResultRow& row : launch.cases) {
      const std::string key = key_of(row), rank = text_in(row, "rank");
      const auto [place, is_new] = places.try_emplace({key, row.get("origin"), rank}, cells.size());
      if (is_new) cells.push_back({key, family_of(row), row, {}, {}, "ok", ""});
      const auto its = samples.find(sample_key(row.get("case_id"), text_in(row, "ranks"),
                                               sampled_rank(launch, row, samples)));
      cells[place->second].launches.push_back(
          {launch.launch, launch.round, row,
           its == samples.end() ? std::vector<double>() : its->second});
    }
  }
  for (Cell& cell : cells) {
    for (const CellLaunch& one : cell.launches) enter(cell, one);
    cell.row = over_launches(cell.launches);
  }
  tell_origins_apart(cells);
  std::vector<std::pair<decltype(order_of(cells.front().row)), std::size_t>> order;
  for (const Cell& cell : cells) order.emplace_back(order_of(cell.row), order.size());
  std::ranges::sort(order);
  std::vector<Cell> sorted;
  for (const auto& [key, place] : order) sorted.push_back(std::move(cells[place]));
  return sorted;
}

bool is_measured_here(std::string_view origin) {
  return origin == "measured" || origin == "emulated";
}

std::vector<Cell> cells_of(const StoredRun& run) {
  std::vector<Cell> all;
  for (const Schema* const schema : case_schemas()) {
    std::ranges::copy_if(cells_of(run.launches_of(*schema)), std::back_inserter(all),
                         &Cell::is_whole);
  }
  return all;
}

std::vector<ResultRow> rows_of(const std::vector<Cell>& cells) {
  std::vector<ResultRow> rows;
  for (const Cell& cell : cells) rows.push_back(cell.row);
  return rows;
}

void relate_to_one_rank(std::vector<Cell>& cells) {
  const auto kin_of = [](const Cell& cell) {
    return std::pair(cell.row.get("case_id"), cell.row.get("origin"));
  };
  std::map<std::pair<std::string, std::string>, const Cell*> ones;
  for (const Cell& cell : cells) {
    if (cell.row.get("ranks") == "1" && cell.is_whole()) ones.emplace(kin_of(cell), &cell);
  }
  for (Cell& cell : cells) {
    const auto one = ones.find(kin_of(cell));
    if (one == ones.end()) continue;
    const double ranks = cell.is_whole() ? number_in(cell.row, "ranks") : 1;
    const double ratio =
        number_in(cell.row, "images_per_s") / (ranks * number_in(one->second->row, "images_per_s"));
    const std::map<int, double> alone = one->second->by_round("images_per_s");
    std::vector<double> here, there;
    for (const auto& [round, rate] : cell.by_round("images_per_s")) {
      if (!alone.contains(round)) continue;
      here.push_back(rate);
      there.push_back(alone.at(round));
    }
    const LaunchInterval of_rounds = ratio_of_means(here, there, Sides::in_rounds);
    cell.row.set("relative_to_one_rank", ratio);
    cell.row.set("relative_ci_low", ratio * of_rounds.low / of_rounds.value);
    cell.row.set("relative_ci_high", ratio * of_rounds.high / of_rounds.value);
  }
}

std::string injected_in(const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    std::string injected = injected_in(cell.row);
    if (!injected.empty()) return injected;
  }
  return "";
}

void join_across(std::vector<Cell>& cells, const std::string& across) {
  const std::vector<std::string_view> valid = parameter_columns();
  if (std::ranges::find(valid, across) == valid.end()) {
    fail<UsageError>("--across: {}", unknown_name("column", across, valid));
  }
  std::unordered_map<std::string_view, const Cell*> seen;
  for (Cell& cell : cells) cell.key = key_without(cell.row, across);
  tell_origins_apart(cells);
  for (const Cell& cell : cells) {
    const auto [found, is_new] = seen.emplace(cell.key, &cell);
    if (is_new) continue;
    fail<UsageError>(
        "--across {}: one run has both '{}' and '{}'; say which is meant with --where, as --where "
        "A:{}=VALUE",
        across, label_of(found->second->row), label_of(cell.row), across);
  }
}

}  // namespace scalebench
