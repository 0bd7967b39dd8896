// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/compare_files.hpp"

#include <fmt/format.h>

#include "bench/record/csv.hpp"
#include "bench/record/file.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/verbs/drawing.hpp"

namespace scalebench {
namespace {

constexpr std::uintmax_t kBytesNeeded = 1'000'000;
constexpr std::size_t kBytesARow = 2000;

void write_rows(const std::filesystem::path& folder, const Schema& schema,
                const std::vector<ResultRow>& rows) {
  if (rows.empty()) return;
  CsvWriter file(folder / schema.file, schema.columns);
  for (const ResultRow& row : rows) file.append(row.cells());
}

}  // namespace

std::string csv_text(const Schema& schema, const std::vector<ResultRow>& rows) {
  std::string text = csv_line(schema.columns);
  for (const ResultRow& row : rows) text += csv_line(row.cells());
  return text;
}

void write_comparison(const std::string& folder, const CompareReport& report, Console& console) {
  const std::uintmax_t bytes = kBytesNeeded + kBytesARow * report.comparison.rows.size();
  const std::filesystem::path path = ResultsFolder::at(folder, bytes).path();
  write_rows(path, comparison_schema(), report.comparison.rows);
  write_rows(path, cost_schema(), report.costs);
  write_rows(path, break_even_schema(), report.break_even);
  const nlohmann::json json = compare_json(report);
  write_file_atomically(path / "compare.json",
                        json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (!report.costs.empty()) draw(path, "plot_compare.py", console);
  console.note(fmt::format("comparison: {}", path.string()));
}

}  // namespace scalebench
