// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/import_table.hpp"

#include <fmt/format.h>

#include "bench/cli/printable.hpp"
#include "bench/number_text.hpp"
#include "bench/study/cell.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kShown = 40;

/// The rate that belongs to a case: "12.31 GB/s busbw", "2470.0 images/s"; empty without one.
std::string rate_of(const ResultRow& row) {
  const auto rate = [&](std::string_view column, int digits, std::string_view unit) {
    const std::string cell = text_in(row, column);
    return cell.empty() ? "" : fmt::format("{} {}", scaled(cell, 1, digits), unit);
  };
  return rate("busbw_gb_per_s", 3, "GB/s busbw") + rate("images_per_s", 1, "images/s") +
         rate("gb_per_s", 3, "GB/s");
}

std::string line(const ResultRow& row) {
  const std::string label = printable(label_of(row));
  if (row.get("status") != "ok") {
    return fmt::format("{:<64} {}: {}\n", label, row.get("status"), printable(row.get("note")));
  }
  return fmt::format("{:<64} {:>13} {:>22} {:>8} {:>8}\n", label,
                     scaled(row.get("seconds_median"), 1e3, 4), rate_of(row), row.get("launches"),
                     row.get("repetitions"));
}

}  // namespace

std::string import_table(const std::vector<ResultRow>& rows) {
  std::string table = fmt::format("{:<64} {:>13} {:>22} {:>8} {:>8}\n", "case", "median (ms)",
                                  "rate", "launches", "values");
  for (std::size_t i = 0; i < rows.size() && i < kShown; ++i) table += line(rows[i]);
  if (rows.size() > kShown) {
    table += fmt::format("... and {} more in {}\n", rows.size() - kShown, rows[0].schema().file);
  }
  return table;
}

}  // namespace scalebench
