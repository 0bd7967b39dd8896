// SPDX-License-Identifier: Apache-2.0
// The comparison for the terminal: machines first, then cells, efficiency, cost, break-even.
#include <fmt/format.h>

#include <algorithm>

#include "bench/cli/printable.hpp"
#include "bench/number_text.hpp"
#include "bench/verbs/compare_report.hpp"
#include "bench/verbs/cost_table.hpp"
#include "bench/verbs/difference_table.hpp"

namespace scalebench {
namespace {

/// p-values that round to nothing are named by their bound.
std::string p_text(const std::string& cell) {
  if (cell.empty()) return "-";
  return std::stod(cell) < 0.001 ? "<0.001" : scaled(cell, 1, 3);
}

std::string interval_text(const ResultRow& row) {
  if (row.get("ratio_low").empty()) return "-";
  return fmt::format("[{}, {}]", scaled(row.get("ratio_low"), 1, 3),
                     scaled(row.get("ratio_high"), 1, 3));
}

/// "12.1 -> 13.5 GB/s": the rate that people know the case by.
std::string rate_text(const ResultRow& row) {
  const auto both = [&](std::string_view a, std::string_view b, int digits, const char* unit) {
    return fmt::format("{} -> {} {}", scaled(row.get(a), 1, digits), scaled(row.get(b), 1, digits),
                       unit);
  };
  if (!(row.get("busbw_a_gb_per_s") + row.get("busbw_b_gb_per_s")).empty()) {
    return both("busbw_a_gb_per_s", "busbw_b_gb_per_s", 2, "GB/s busbw");
  }
  if (!(row.get("images_per_s_a") + row.get("images_per_s_b")).empty()) {
    return both("images_per_s_a", "images_per_s_b", 1, "images/s");
  }
  return "";
}

std::string label_text(const ResultRow& row) {
  const std::string& differs = row.get("differs");
  return printable(differs.empty() ? row.get("label")
                                   : fmt::format("{} ({})", row.get("label"), differs));
}

std::string line(const ResultRow& row, std::size_t width) {
  const std::string& verdict = row.get("verdict");
  std::string text = fmt::format(
      "{:<{}} {:>11} {:>11} {:>7} {:>16} {:>7} {:<9} {:>24}", label_text(row), width,
      time_text(row.get("seconds_a")), time_text(row.get("seconds_b")),
      scaled(row.get("ratio"), 1, 3), interval_text(row), p_text(row.get("p_holm")),
      verdict.empty() ? row.get("status") == "skipped" ? "skipped" : "-" : verdict, rate_text(row));
  if (row.get("origin") != "measured") text += "  " + row.get("origin");
  if (!row.get("note").empty()) text += "  " + printable(row.get("note"));
  return text.erase(text.find_last_not_of(' ') + 1) + "\n";
}

bool is_shown(const ResultRow& row, bool changed_only) {
  return !changed_only || row.get("verdict") != "SAME";
}

std::string cells_table(const std::vector<ResultRow>& rows, char letter, bool changed_only) {
  std::size_t width = 4;
  for (const ResultRow& row : rows) {
    if (row.get("letter")[0] == letter) width = std::max(width, label_text(row).size());
  }
  width = std::min<std::size_t>(width, 72);
  std::string table = fmt::format("{:<{}} {:>11} {:>11} {:>7} {:>16} {:>7} {:<9} {:>24}\n", "cell",
                                  width, "A", "B", "ratio", "interval", "p", "verdict", "rate");
  for (const ResultRow& row : rows) {
    if (row.get("letter")[0] == letter && is_shown(row, changed_only)) table += line(row, width);
  }
  return table;
}

std::string efficiency_text(const ResultRow& row, char side) {
  const auto cell = [&](const char* end) {
    return row.get(fmt::format("efficiency_{}{}", side, end));
  };
  if (cell("").empty()) return "-";
  std::string text = scaled(cell(""), 100, 1) + " %";
  if (cell("_ci_low").empty()) return text;
  return text + fmt::format(" [{}, {}]", scaled(cell("_ci_low"), 100, 1),
                            scaled(cell("_ci_high"), 100, 1));
}

std::string efficiency_table(const std::vector<ResultRow>& rows, char letter) {
  std::string table;
  for (const ResultRow& row : rows) {
    const bool any = !(row.get("efficiency_a") + row.get("efficiency_b")).empty();
    if (!any || row.get("letter")[0] != letter) continue;
    if (table.empty()) {
      table = fmt::format("\n{:<52} {:>26} {:>26}\n", "efficiency against one_device (no test)",
                          "A", "B");
    }
    table += fmt::format("{:<52} {:>26} {:>26}\n", label_text(row), efficiency_text(row, 'a'),
                         efficiency_text(row, 'b'));
  }
  return table;
}

std::string heading(const CompareReport::Run& run) {
  const Manifest& manifest = run.manifest;
  std::string text =
      fmt::format("# {}: {} ({}, {}{})\n", run.letter, printable(manifest.run_id),
                  manifest.started_utc, manifest.origin, run.letter == 'A' ? ", the baseline" : "");
  if (run.instance) {
    const bool users = run.instance->price_source == kUsersPrice;
    text += fmt::format("#    on {} at {} usd an hour ({}, {})\n", printable(run.instance->name),
                        run.instance->usd_per_hour, run.instance->price_date,
                        users ? kUsersPrice : "by the catalog, which names its source");
  }
  if (run.letter == 'A') return text;
  if (!differing(run.differences, "key").empty()) {
    text += fmt::format("# {} is another machine than A; times differ for that reason too\n",
                        run.letter);
  }
  return text + difference_table(run.differences);
}

}  // namespace

std::string compare_table(const CompareReport& report, bool changed_only) {
  std::string table;
  for (const CompareReport::Run& run : report.runs) table += heading(run);
  for (const CompareReport::Run& run : report.runs) {
    if (run.letter == 'A') continue;
    table += fmt::format(
        "\n# {} against A: medians of launches; ratio of times, above 1: {} took longer; 95 % "
        "interval; p: rank-sum test after Holm\n",
        run.letter, run.letter);
    const std::vector<ResultRow>& rows = report.comparison.rows;
    table += cells_table(rows, run.letter, changed_only);
    table += efficiency_table(rows, run.letter);
  }
  return table + cost_table(report.costs) + break_even_table(report.break_even) +
         (report.runs.size() > 1 ? "\n" : "") + summary_of(report);
}

}  // namespace scalebench
