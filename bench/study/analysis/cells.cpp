// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/cells.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "bench/cli/quantity.hpp"
#include "bench/launch/hosts.hpp"
#include "bench/record/columns.hpp"
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

/// "epoch.csv" -> "epoch".
std::string bench_of(const ResultRow& row) {
  const std::string_view file = row.schema().file;
  return std::string(file.substr(0, file.find('.')));
}

/// A size as people read it; another cell as it is.
std::string size_text(const std::string& cell) {
  const auto bytes = read_number<std::size_t>(cell);
  return bytes ? show_size(*bytes) : cell;
}

/// NaN for what is no number, "N/A" as well as nothing: no time, whatever was meant by it.
double number_or_none(const std::string& text) {
  const double value = read_number<double>(text).value_or(std::nan(""));
  return std::isfinite(value) ? value : std::nan("");
}

void add(Cell& cell, const ResultRow& row, int round) {
  const std::string& status = row.get("status");
  const std::string& seconds = row.get(time_column(row.schema()));
  const double median = number_or_none(seconds);
  if (status == "ok" && median > 0) {
    cell.seconds.push_back(median);
    cell.rounds.push_back(round);
    const double rate = number_or_none(text_in(row, "images_per_s"));
    if (!std::isnan(rate)) cell.images_per_s.push_back(rate);
    if (cell.status == "skipped") {
      cell.status = "ok";
      cell.row = row;
    }
  } else if (status != "skipped") {
    // A row without a time that is not even positive is no measurement, whatever it calls itself.
    cell.status = status == "ok" ? "wrong" : status;
    cell.note = row.get("note");
    if (status == "ok" && cell.note.empty()) {
      cell.note = fmt::format("{} is '{}'", time_column(row.schema()), seconds);
    }
  } else if (cell.status == "ok" && cell.seconds.empty()) {
    cell.status = status;
    cell.note = row.get("note");
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

}  // namespace

std::string_view name_of(CellFamily family) {
  constexpr std::array<std::string_view, 4> kNames{"latency", "bandwidth", "throughput", "epoch"};
  return kNames.at(static_cast<std::size_t>(family));
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

std::vector<Cell> cells_of(const std::vector<LaunchRows>& launches) {
  std::vector<Cell> cells;
  std::map<std::pair<std::string, std::string>, std::size_t> place_of;  // by key and origin
  for (const LaunchRows& launch : launches) {
    for (const ResultRow& row : launch.cases) {
      const std::string rank = text_in(row, "rank");
      if (!rank.empty() && rank != "all") continue;
      const std::string key =
          fmt::format("{}/{}/{}", bench_of(row), row.get("case_id"),
                      ranks_words(text_in(row, "ranks"), text_in(row, "nodes")));
      const auto [found, is_new] =
          place_of.emplace(std::pair(key, row.get("origin")), cells.size());
      if (is_new) cells.push_back({key, family_of(row), row, {}, {}, "ok", ""});
      add(cells[found->second], row, launch.round);
    }
  }
  tell_origins_apart(cells);
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

std::string injected_in(const ResultRow& row) {
  const std::string note = text_in(row, "note");
  const std::size_t begin = note.find(kInjectedNote);
  if (begin == std::string::npos) return "";
  return note.substr(begin, note.find("; ", begin) - begin);
}

std::string injected_in(const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    std::string injected = injected_in(cell.row);
    if (!injected.empty()) return injected;
  }
  return "";
}

std::string label_of(const ResultRow& row) {
  std::vector<std::string> words{bench_of(row)};
  constexpr std::array<std::string_view, 12> kWords{
      "kernel", "algorithm", "model",     "gradient_sync", "allreduce", "transport",
      "dtype",  "op",        "placement", "scaling",       "cache",     "pages"};
  for (const std::string_view column : kWords) {
    const std::string text = text_in(row, column);
    // What nearly every row has says nothing.
    const bool usual = text.empty() || text == "float" || text == "sum" || text == "in_place" ||
                       text == "warm" || text == "default";
    if (!usual) words.push_back(text);
  }
  const auto add = [&](std::string_view column, std::string_view before) {
    const std::string text = text_in(row, column);
    if (!text.empty()) words.push_back(fmt::format("{}{}", before, text));
  };
  if (text_in(row, "register") != "1") add("register", "register ");
  add("batch", "batch ");
  const std::string size = text_in(row, "size_bytes") + text_in(row, "bytes");
  if (!size.empty()) words.push_back(size_text(size));
  if (text_in(row, "share_of") != "1") add("share_of", "share of ");
  const std::string ranks = ranks_words(text_in(row, "ranks"), text_in(row, "nodes"));
  if (!ranks.empty()) words.push_back(fmt::format("N={}", ranks));
  return fmt::format("{}", fmt::join(words, " "));
}

namespace {

/// A case file lacks most of these. Samples are those of an epoch: other work is another case.
constexpr std::array<std::string_view, 30> kParameters{
    "kernel",    "algorithm", "model",   "gradient_sync", "allreduce",
    "transport", "memory",    "device",  "dtype",         "memory_format",
    "op",        "placement", "mode",    "cache",         "size_bytes",
    "threads",   "dataset",   "scaling", "global_batch",  "batch",
    "optimizer", "settings",  "samples", "share_of",      "target_accuracy",
    "bytes",     "nodes",     "step",    "pages",         "register"};

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

void require_parameter(std::string_view option, const std::string& column) {
  const std::vector<std::string_view> valid = parameter_columns();
  if (std::ranges::find(valid, column) != valid.end()) return;
  fail<UsageError>("{}: {}", option, unknown_name("column", column, valid));
}

/// Nothing for what nearly every row has.
std::string parameter_in(const ResultRow& row, std::string_view column) {
  std::string text = text_in(row, column);
  const bool may_be_one = column == "share_of" || column == "nodes" || column == "register";
  const bool usual = (may_be_one && text == "1") || (column == "step" && text == "eager");
  return usual ? std::string() : text;
}

/// What our programs do unless asked for else, and what an import does not say.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kUnsaid{
    {{"pages", "default"}, {"memory_format", "contiguous"}}};

}  // namespace

std::vector<std::vector<std::string_view>> differing_parameters(
    const std::vector<const ResultRow*>& rows, const std::vector<std::string>& names) {
  std::map<std::string_view, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < rows.size(); ++i) alike[names[i]].push_back(i);
  std::vector<std::vector<std::string_view>> parameters(rows.size());
  std::vector<std::string_view> columns = parameter_columns();
  columns.emplace_back("origin");
  for (const auto& [name, places] : alike) {
    for (const std::string_view column : columns) {
      const std::string first = parameter_in(*rows[places.front()], column);
      const bool differs = std::ranges::any_of(
          places, [&](std::size_t i) { return parameter_in(*rows[i], column) != first; });
      if (!differs) continue;
      for (const std::size_t i : places) parameters[i].push_back(column);
    }
  }
  return parameters;
}

std::string words_of(const ResultRow& row, const std::vector<std::string_view>& parameters) {
  std::string words;
  for (const std::string_view column : parameters) {
    const std::string text = parameter_in(row, column);
    if (text.empty()) continue;
    // A number says nothing without its name.
    const bool is_word = !read_number<double>(text);
    words += ' ' + (is_word ? text : fmt::format("{} {}", column, text));
  }
  return words;
}

std::vector<std::string> words_apart(const std::vector<const ResultRow*>& rows,
                                     const std::vector<std::string>& names) {
  const auto parameters = differing_parameters(rows, names);
  std::vector<std::string> words;
  std::map<std::string, int> times;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    words.push_back(words_of(*rows[i], parameters[i]));
    ++times[names[i] + words[i]];
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (times[names[i] + words[i]] > 1) words[i] += " case " + rows[i]->get("case_id");
  }
  return words;
}

std::vector<std::string> labels_of(const std::vector<const ResultRow*>& rows) {
  std::vector<std::string> labels;
  for (const ResultRow* const row : rows) labels.push_back(label_of(*row));
  const auto parameters = differing_parameters(rows, labels);
  for (std::size_t i = 0; i < rows.size(); ++i) labels[i] += words_of(*rows[i], parameters[i]);
  return labels;
}

std::unordered_map<std::string, std::string> labels_of(const std::vector<const Cell*>& cells) {
  std::unordered_map<std::string, std::size_t> place_of;
  std::vector<const ResultRow*> rows;
  for (const Cell* const cell : cells) {
    if (place_of.emplace(cell->key, rows.size()).second) rows.push_back(&cell->row);
  }
  const std::vector<std::string> labels = labels_of(rows);
  std::unordered_map<std::string, std::string> by_key;
  for (const auto& [key, place] : place_of) by_key.emplace(key, labels[place]);
  return by_key;
}

std::unordered_map<std::string, std::string> labels_of(const std::vector<Cell>& cells) {
  std::vector<const Cell*> all;
  for (const Cell& cell : cells) all.push_back(&cell);
  return labels_of(all);
}

std::vector<std::string_view> parameter_columns() {
  return {kParameters.begin(), kParameters.end()};
}

std::string key_without(const ResultRow& row, std::string_view across) {
  std::string key{row.schema().file};
  for (const std::string_view column : kParameters) {
    if (column == across) continue;
    const std::string text = parameter_in(row, column);
    const bool unsaid =
        std::ranges::find(kUnsaid, std::pair(column, std::string_view(text))) != kUnsaid.end();
    key += '\n' + (unsaid ? std::string() : text);
  }
  return key + '\n' + text_in(row, "ranks");
}

void join_across(std::vector<Cell>& cells, const std::string& across) {
  require_parameter("--across", across);
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

void keep_where(std::vector<Cell>& cells, const std::string& column,
                const std::vector<std::string>& values) {
  std::vector<std::string_view> valid = parameter_columns();
  valid.insert(valid.begin(), "ranks");
  if (std::ranges::find(valid, column) == valid.end()) {
    fail<UsageError>("--where: {}", unknown_name("column", column, valid));
  }
  for (const std::string& value : values) {
    if (column != "ranks" || read_number<int>(value)) continue;
    fail<UsageError>("--where ranks={}: expected a number", value);
  }
  std::erase_if(cells,
                [&](const Cell& cell) { return !contains(values, text_in(cell.row, column)); });
}

std::string difference_across(const ResultRow& a, const ResultRow& b, const std::string& across) {
  const std::string of_a = text_in(a, across), of_b = text_in(b, across);
  return of_a == of_b ? "" : fmt::format("{}: {} -> {}", across, of_a, of_b);
}

}  // namespace scalebench
