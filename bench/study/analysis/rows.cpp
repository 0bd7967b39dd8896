// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/rows.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>

#include "bench/record/columns.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// Whether a header stands there; a writer that was killed at once leaves an empty file.
bool has_whole_line(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  return std::getline(file, line) && !file.eof();
}

/// Where each column of the schema stands in the file.
std::vector<std::ptrdiff_t> places_of(const CsvTable& table, const Schema& schema) {
  std::vector<std::ptrdiff_t> places;
  for (const std::string& column : schema.columns) {
    table.require(column);
    places.push_back(std::ranges::find(table.columns(), column) - table.columns().begin());
  }
  return places;
}

}  // namespace

std::vector<std::pair<double, std::string>> order_of(const ResultRow& row) {
  constexpr std::array<std::string_view, 20> kOrder{
      "model", "transport",    "memory",     "dtype",         "op",        "placement", "mode",
      "cache", "pages",        "register",   "scaling",       "dataset",   "ranks",     "nodes",
      "batch", "global_batch", "size_bytes", "gradient_sync", "algorithm", "rank"};
  std::vector<std::pair<double, std::string>> order;
  for (const std::string_view column : kOrder) {
    const std::string text = text_in(row, column);
    const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    order.emplace_back(number ? std::stod(text) : std::numeric_limits<double>::max(), text);
  }
  return order;
}

std::vector<ResultRow> rows_in(const std::filesystem::path& folder, const Schema& schema,
                               bool* torn) {
  std::vector<ResultRow> rows;
  const std::filesystem::path path = csv_file(folder / schema.file);
  if (torn != nullptr) *torn = false;
  if (!std::filesystem::exists(path)) return rows;
  if (path.extension() != ".gz" && !has_whole_line(path)) {
    if (torn != nullptr) *torn = std::filesystem::file_size(path) > 0;
    return rows;
  }
  CsvTable table = CsvTable::read(path);
  if (torn != nullptr) *torn = table.torn();
  const std::vector<std::ptrdiff_t> places = places_of(table, schema);
  rows.reserve(table.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    std::vector<std::string> cells(schema.columns.size());
    for (std::size_t k = 0; k < cells.size(); ++k)
      cells[k] = table.cells(i)[static_cast<std::size_t>(places[k])];
    rows.emplace_back(schema, std::move(cells));
    table.release(i);  // 100 000 rows twice would be half a gigabyte
  }
  return rows;
}

std::string torn_text(const std::filesystem::path& file) {
  return file.string() + ": its last line was cut short and is left out";
}

}  // namespace scalebench
