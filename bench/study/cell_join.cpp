// SPDX-License-Identifier: Apache-2.0
#include "bench/study/cell_join.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "kernels/error.hpp"
#include "kernels/unknown_name.hpp"

namespace scalebench {
namespace {

/// A case file lacks most of these. Samples are those of an epoch: other work is another case.
constexpr std::array<std::string_view, 32> kParameters{
    "kernel",   "algorithm", "model",          "gradient_sync",   "allreduce", "transport",
    "memory",   "device",    "dtype",          "memory_format",   "op",        "placement",
    "mode",     "cache",     "graph",          "size_bytes",      "count",     "threads",
    "dataset",  "scaling",   "global_batch",   "batch",           "optimizer", "learning_rate",
    "samples",  "share_of",  "loader_threads", "target_accuracy", "bytes",     "nodes",
    "dilation", "step"};

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

void require_parameter(std::string_view option, const std::string& column) {
  const std::vector<std::string_view> valid = parameter_columns();
  if (std::ranges::find(valid, column) != valid.end()) return;
  fail<UsageError>("{}: {}", option, unknown_name("column", column, valid));
}

std::string key_without(const ResultRow& row, const std::vector<std::string>& across) {
  std::string key{row.schema().file};
  for (const std::string_view column : kParameters) {
    if (contains(across, column)) continue;
    const std::string text = text_in(row, column);
    // Rows of earlier versions leave these empty.
    const bool usual = ((column == "share_of" || column == "nodes") && text == "1") ||
                       (column == "step" && text == "eager");
    key += '\n';
    key += usual ? std::string() : text;
  }
  return key + '\n' + text_in(row, "ranks");
}

std::size_t in_common(const std::vector<Cell>& a, const std::vector<Cell>& b,
                      const std::vector<std::string>& across) {
  std::unordered_set<std::string> keys;
  for (const Cell& cell : a) keys.insert(key_without(cell.row, across));
  const auto also = [&](const Cell& cell) { return keys.contains(key_without(cell.row, across)); };
  return static_cast<std::size_t>(std::ranges::count_if(b, also));
}

}  // namespace

std::vector<std::string_view> parameter_columns() {
  return {kParameters.begin(), kParameters.end()};
}

void join_across(std::vector<Cell>& cells, const std::vector<std::string>& across) {
  for (const std::string& column : across) require_parameter("--across", column);
  std::unordered_map<std::string_view, const Cell*> seen;
  for (Cell& cell : cells) cell.key = key_without(cell.row, across);
  for (const Cell& cell : cells) {
    const auto [found, is_new] = seen.emplace(cell.key, &cell);
    if (is_new) continue;
    fail<UsageError>(
        "--across {}: one run has both '{}' and '{}'; say which is meant with --where, as --where "
        "A:{}=VALUE",
        fmt::join(across, ","), label_of(found->second->row), label_of(cell.row), across.front());
  }
}

void keep_where(std::vector<Cell>& cells, const std::string& column,
                const std::vector<std::string>& values) {
  if (column != "ranks") require_parameter("--where", column);
  std::erase_if(cells,
                [&](const Cell& cell) { return !contains(values, text_in(cell.row, column)); });
}

JoinHint join_hint(const std::vector<Cell>& a, const std::vector<Cell>& b) {
  std::vector<std::string> likely{"device",    "transport",     "allreduce",
                                  "algorithm", "gradient_sync", "memory"};
  if (in_common(a, b, likely) == 0) return {};
  // Columns are put back one by one as long as something is joined.
  std::vector<std::string> across = likely;
  for (const std::string& column : likely) {
    std::vector<std::string> fewer = across;
    std::erase(fewer, column);
    if (in_common(a, b, fewer) > 0) across = fewer;
  }
  return {fmt::format("{}", fmt::join(across, ",")), in_common(a, b, across)};
}

std::string differences_across(const ResultRow& a, const ResultRow& b,
                               const std::vector<std::string>& across) {
  std::vector<std::string> parts;
  for (const std::string& column : across) {
    const std::string of_a = text_in(a, column), of_b = text_in(b, column);
    if (of_a != of_b) parts.push_back(fmt::format("{}: {} -> {}", column, of_a, of_b));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace scalebench
