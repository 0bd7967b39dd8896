// SPDX-License-Identifier: Apache-2.0
// What people read of a case, and keys made of its parameters.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/cli/quantity.hpp"
#include "bench/launch/hosts.hpp"
#include "bench/record/columns.hpp"
#include "bench/study/analysis/cells.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

/// A size as people read it; another cell as it is.
std::string size_text(const std::string& cell) {
  const auto bytes = read_number<std::size_t>(cell);
  return bytes ? show_size(*bytes) : cell;
}

}  // namespace

std::string injected_in(const ResultRow& row) {
  const std::string note = text_in(row, "note");
  const std::size_t begin = note.find(kInjectedNote);
  if (begin == std::string::npos) return "";
  return note.substr(begin, note.find("; ", begin) - begin);
}

std::string ranks_words(const std::string& ranks, const std::string& nodes) {
  const int n = read_number<int>(ranks).value_or(0), k = read_number<int>(nodes).value_or(0);
  if (k < 2) return ranks;
  return n % k == 0 ? layout_words({k, n / k}) : fmt::format("{} on {}", n, k);
}

std::string label_of(const ResultRow& row) {
  std::vector<std::string> words{std::string(row.schema().bench())};
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
constexpr std::array<std::string_view, 29> kParameters{
    "kernel",    "algorithm", "model",   "gradient_sync", "allreduce",
    "transport", "memory",    "device",  "dtype",         "memory_format",
    "op",        "placement", "mode",    "cache",         "size_bytes",
    "threads",   "dataset",   "scaling", "global_batch",  "batch",
    "optimizer", "settings",  "samples", "share_of",      "target_accuracy",
    "bytes",     "nodes",     "step",    "register"};

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

/// Nothing for what nearly every row has.
std::string parameter_in(const ResultRow& row, std::string_view column) {
  std::string text = text_in(row, column);
  const bool may_be_one = column == "share_of" || column == "nodes" || column == "register";
  const bool usual = (may_be_one && text == "1") || (column == "step" && text == "eager");
  return usual ? std::string() : text;
}

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

namespace {

/// What the row has there, as words for people: " channels_last graph threads 4".
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

}  // namespace

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
  const std::vector<std::string> words = words_apart(rows, labels);
  for (std::size_t i = 0; i < rows.size(); ++i) labels[i] += words[i];
  return labels;
}

std::vector<std::string> labels_of(const std::vector<Cell>& cells) {
  std::vector<const ResultRow*> rows;
  for (const Cell& cell : cells) rows.push_back(&cell.row);
  return labels_of(rows);
}

std::vector<std::string_view> parameter_columns() {
  return {kParameters.begin(), kParameters.end()};
}

std::string key_without(const ResultRow& row, std::string_view across) {
  std::string key{row.schema().file};
  for (const std::string_view column : kParameters) {
    if (column == across) continue;
    const std::string text = parameter_in(row, column);
    // Our programs do so unless asked for else, and an import does not say it.
    const bool unsaid = column == "memory_format" && text == "contiguous";
    key += '\n' + (unsaid ? std::string() : text);
  }
  return key + '\n' + text_in(row, "ranks");
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
