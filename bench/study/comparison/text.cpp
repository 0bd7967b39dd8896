// SPDX-License-Identifier: Apache-2.0
// The comparison as Markdown: GitHub's tables, with everything in a cell taken literally.
#include "bench/study/comparison/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/cli/console.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/study/comparison/report.hpp"
#include "bench/study/comparison/run_difference.hpp"

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

// The comparison for the terminal: machines first, then cells, efficiency, cost, break-even.

namespace {

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
      scaled(row.get("ratio"), 1, 3), interval_text(row), show_p(row.get("p_holm")),
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

namespace {

std::string cost_line(const ResultRow& row) {
  std::string text = fmt::format("{:<14} {:<12} {:<20} {:<7} {:>4} {:>5} ", row.get("instance"),
                                 printable(row.get("model")), row.get("gradient_sync"),
                                 row.get("scaling"), row.get("ranks"), row.get("nodes"));
  if (row.get("status") != "ok") {
    return text + fmt::format("{}: {}\n", row.get("status"), printable(row.get("note")));
  }
  text += fmt::format(
      "{:>26} {:>28} {:>12} {:>6} {:>11} {:>11}",
      with_interval(row.get("seconds_median"), row.get("seconds_ci_low"),
                    row.get("seconds_ci_high"), 1, 3),
      with_interval(row.get("usd_per_epoch"), row.get("usd_per_epoch_ci_low"),
                    row.get("usd_per_epoch_ci_high"), 1, 6),
      scaled(row.get("images_per_usd"), 1, 0), row.get("efficient") == "1" ? "yes" : "-",
      scaled(row.get("seconds_to_target"), 1, 1), scaled(row.get("usd_to_target"), 1, 4));
  if (row.get("origin") != "measured") text += "  " + row.get("origin");
  if (!row.get("note").empty()) text += "  " + printable(row.get("note"));
  return text + "\n";
}

}  // namespace

std::string cost_table(const std::vector<ResultRow>& rows) {
  if (rows.empty()) return "";
  std::string table =
      "\n# cost of an epoch: price x nodes x seconds / 3600; nodes: N over the GPUs of an "
      "instance, "
      "rounded up\n"
      "# best: nothing else here gives as many images a second and as many a dollar; to accuracy: "
      "where a target was set and reached\n";
  table += fmt::format(
      "{:<14} {:<12} {:<20} {:<7} {:>4} {:>5} {:>26} {:>28} {:>12} {:>6} {:>11} "
      "{:>11}\n",
      "instance", "model", "sync", "scaling", "N", "nodes", "seconds an epoch", "usd an epoch",
      "images/usd", "best", "s to acc.", "usd to acc.");
  for (const ResultRow& row : rows) table += cost_line(row);
  return table;
}

std::string break_even_text(const ResultRow& row) {
  const std::string what = fmt::format("{} {} {} {}", row.get("model"), row.get("gradient_sync"),
                                       row.get("scaling"), row.get("dataset"));
  const bool cost = row.get("criterion") == "usd_per_epoch";
  const char* const word = cost ? "cheaper" : "faster";
  if (row.get("status") != "ok") {
    return fmt::format("{}: whether {} is {} is not known: {}", what, row.get("instance_b"), word,
                       row.get("note"));
  }
  const std::string values =
      fmt::format("{} against {} {} an epoch", scaled(row.get("value_b"), 1, cost ? 6 : 3),
                  scaled(row.get("value_a"), 1, cost ? 6 : 3), cost ? "usd" : "s");
  std::string text;
  if (row.get("ranks").empty()) {
    text =
        fmt::format("{}: {} is never {} than {} within the measured N ({})", what,
                    row.get("instance_b"), word, row.get("instance_a"), row.get("ranks_compared"));
  } else {
    text = fmt::format("{}: {} is {} than {} first at N = {} ({}; measured: {})", what,
                       row.get("instance_b"), word, row.get("instance_a"), row.get("ranks"), values,
                       row.get("ranks_compared"));
    if (!row.get("note").empty()) text += "; " + row.get("note");
  }
  return row.get("origin") == "measured" ? text : text + "; " + row.get("origin");
}

std::string break_even_table(const std::vector<ResultRow>& rows) {
  if (rows.empty()) return "";
  std::string table = "\n# break-even\n";
  for (const ResultRow& row : rows) table += printable(break_even_text(row)) + "\n";
  return table;
}

}  // namespace scalebench
