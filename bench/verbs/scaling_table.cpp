// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/scaling_table.hpp"

#include <fmt/format.h>

#include "bench/number_text.hpp"
#include "bench/study/layout.hpp"

namespace scalebench {
namespace {

std::string percent(const std::string& cell) {
  return cell.empty() ? "-" : scaled(cell, 100, 1) + " %";
}

/// "2.31 [2.28, 2.35]", or without the bracket where there is no interval.
std::string with_interval(const ResultRow& row, std::string_view value, std::string_view low,
                          std::string_view high, int digits) {
  const std::string text = scaled(row.get(value), 1, digits);
  if (row.get(low).empty()) return text;
  return fmt::format("{} [{}, {}]", text, scaled(row.get(low), 1, digits),
                     scaled(row.get(high), 1, digits));
}

std::string line(const ResultRow& row) {
  std::string text =
      fmt::format("{:<10} {:<11} {:<7} {:>3} ", row.get("model"), row.get("gradient_sync"),
                  row.get("scaling"), ranks_words(row.get("ranks"), row.get("nodes")));
  if (row.get("status") != "ok") {
    return text + fmt::format("{}: {}\n", row.get("status"), row.get("note"));
  }
  text += fmt::format("{:>9} {:>9} {:>24} {:>20} {:>8} {:>8} {:>7} {:>9}",
                      scaled(row.get("h_seconds"), 1, 3), scaled(row.get("ideal_seconds"), 1, 3),
                      with_interval(row, "seconds_median", "seconds_ci_low", "seconds_ci_high", 3),
                      with_interval(row, "speedup", "speedup_ci_low", "speedup_ci_high", 2),
                      percent(row.get("efficiency")), percent(row.get("efficiency_raw")),
                      scaled(row.get("karp_flatt"), 1, 3), percent(row.get("test_accuracy")));
  if (row.get("origin") != "measured") text += "  " + row.get("origin");
  if (!row.get("note").empty()) text += "  " + row.get("note");
  return text + "\n";
}

}  // namespace

std::string scaling_table(const std::vector<ResultRow>& rows) {
  if (rows.empty()) return "";
  std::string table =
      "# H: one epoch on one device; ideal: H/N; times in seconds, median [interval] over "
      "launches\n"
      "# effic.: against one_device; raw: against a plain loop without synchronisation code\n";
  table +=
      fmt::format("{:<10} {:<11} {:<7} {:>3} {:>9} {:>9} {:>24} {:>20} {:>8} {:>8} {:>7} {:>9}\n",
                  "model", "sync", "scaling", "N", "H", "ideal", "measured", "speedup", "effic.",
                  "raw", "K-F", "accuracy");
  for (const ResultRow& row : rows) table += line(row);
  return table;
}

}  // namespace scalebench
