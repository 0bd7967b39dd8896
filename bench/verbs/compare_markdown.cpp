// SPDX-License-Identifier: Apache-2.0
// The comparison as Markdown: GitHub's tables, with everything in a cell taken literally.
#include <fmt/ranges.h>

#include "bench/number_text.hpp"
#include "bench/verbs/compare_report.hpp"
#include "bench/verbs/cost_table.hpp"

namespace scalebench {
namespace {

/// Text that ends no cell, starts no markup and is no HTML.
std::string literal(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (std::string_view("|\\`*_[]#@").find(c) != std::string_view::npos) {
      escaped += fmt::format("\\{}", c);
    } else {
      escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return escaped;
}

std::string row_of(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string head_of(const std::vector<std::string>& cells) {
  return row_of(cells) + row_of(std::vector<std::string>(cells.size(), "---"));
}

std::string cells_of_run(const CompareReport& report, const CompareReport::Run& run,
                         bool changed_only) {
  std::string text = fmt::format("\n## {} against A\n\n", run.letter);
  text += head_of({"cell", "A", "B", "ratio B/A", "95 % interval", "p (Holm)", "verdict", "note"});
  for (const ResultRow& row : report.comparison.rows) {
    if (row.get("letter")[0] != run.letter) continue;
    if (changed_only && row.get("verdict") == "SAME") continue;
    const std::string interval = row.get("ratio_low").empty()
                                     ? "-"
                                     : fmt::format("{} to {}", scaled(row.get("ratio_low"), 1, 3),
                                                   scaled(row.get("ratio_high"), 1, 3));
    const std::string differs =
        row.get("differs").empty() ? "" : fmt::format(" ({})", row.get("differs"));
    text += row_of({literal(row.get("label") + differs), time_text(row.get("seconds_a")),
                    time_text(row.get("seconds_b")), scaled(row.get("ratio"), 1, 3), interval,
                    scaled(row.get("p_holm"), 1, 3), row.get("verdict"), literal(row.get("note"))});
  }
  return text;
}

std::string costs(const std::vector<ResultRow>& rows) {
  if (rows.empty()) return "";
  std::string text = "\n## Cost\n\n";
  text += head_of({"instance", "usd/h (date)", "model", "sync", "scaling", "N", "nodes", "s/epoch",
                   "usd/epoch", "images/usd", "s to target", "usd to target", "origin", "note"});
  for (const ResultRow& row : rows) {
    text +=
        row_of({literal(row.get("instance")),
                literal(fmt::format("{} ({})", row.get("usd_per_hour"), row.get("price_date"))),
                literal(row.get("model")), literal(row.get("gradient_sync")), row.get("scaling"),
                row.get("ranks"), row.get("nodes"), scaled(row.get("seconds_median"), 1, 3),
                scaled(row.get("usd_per_epoch"), 1, 6), scaled(row.get("images_per_usd"), 1, 0),
                scaled(row.get("seconds_to_target"), 1, 1), scaled(row.get("usd_to_target"), 1, 4),
                row.get("origin"), literal(row.get("note"))});
  }
  return text;
}

}  // namespace

std::string compare_markdown(const CompareReport& report, bool changed_only) {
  std::string text = "# Comparison\n\n";
  for (const CompareReport::Run& run : report.runs) {
    text += fmt::format("- {}: {} ({}, {})\n", run.letter, literal(run.manifest.run_id),
                        run.manifest.started_utc, run.manifest.origin);
    for (const FieldDifference& field : run.differences) {
      text += fmt::format("  - {} {}: {} -> {}\n", field.set, literal(field.field),
                          literal(field.a), literal(field.b));
    }
  }
  text += fmt::format("\n{}\n", literal(summary_of(report)));
  for (const CompareReport::Run& run : report.runs) {
    if (run.letter != 'A') text += cells_of_run(report, run, changed_only);
  }
  text += costs(report.costs);
  if (!report.break_even.empty()) text += "\n## Break-even\n\n";
  for (const ResultRow& row : report.break_even) {
    text += fmt::format("- {}\n", literal(break_even_text(row)));
  }
  return text;
}

}  // namespace scalebench
