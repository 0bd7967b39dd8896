// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "bench/cli/console.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/pairs.hpp"
#include "bench/study/comparison/decision.hpp"

namespace scalebench {
namespace {

/// "12.34 us", "4.567 ms", "7.890 s", "16.6 min"; "-" for an empty cell.
std::string time_text(const std::string& seconds) {
  if (seconds.empty()) return "-";
  const double value = std::stod(seconds);
  if (value < 1e-3) return fmt::format("{:.2f} us", value * 1e6);
  if (value < 1) return fmt::format("{:.3f} ms", value * 1e3);
  return value < 100 ? fmt::format("{:.3f} s", value) : show_time(value);
}

/// Behind a line: where it is from unless it was measured, and its note.
std::string remarks_on(const ResultRow& row) {
  std::string text;
  if (row.get("origin") != "measured") text += "  " + row.get("origin");
  if (!row.get("note").empty()) text += "  " + printable(row.get("note"));
  return text;
}

/// Behind a cost: its run, where another one was on that type too.
std::string run_of(const CompareReport& report, const ResultRow& cost) {
  const bool several = std::ranges::any_of(report.costs, [&](const ResultRow& other) {
    return other.get("instance") == cost.get("instance") &&
           other.get("run_id") != cost.get("run_id");
  });
  return several ? "  run " + printable(cost.get("run_id")) : "";
}

/// A time or a cost of a row with its interval, in words.
std::string time_of(const ResultRow& row) {
  return show_time(number_in(row, "seconds_median"), number_in(row, "seconds_ci_low"),
                   number_in(row, "seconds_ci_high"));
}
std::string usd_of_epoch(const ResultRow& row) {
  return show_usd(number_in(row, "usd_per_epoch"), number_in(row, "usd_per_epoch_ci_low"),
                  number_in(row, "usd_per_epoch_ci_high"));
}

/// Of each row what the columns of its table leave out and tells it from the others: "batch 64".
std::map<const ResultRow*, std::string> words_apart(const std::vector<const ResultRow*>& rows) {
  std::vector<std::string> names;
  for (const ResultRow* const row : rows) {
    std::string& name = names.emplace_back();
    for (const char* const column :
         {"instance", "model", "gradient_sync", "scaling", "ranks", "nodes"}) {
      name += row->get(column) + '/';
    }
    if (!is_throughput(*row)) continue;
    for (const char* const column : {"dtype", "step", "batch"}) name += row->get(column) + '/';
  }
  const auto parameters = differing_parameters(rows, names);
  std::map<const ResultRow*, std::string> words;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string text = words_of(*rows[i], parameters[i]);
    words[rows[i]] = text.empty() ? text : text.substr(1);
  }
  return words;
}

std::string cost_line(const CompareReport& report, const ResultRow& row, const std::string& words) {
  std::string text = fmt::format("{:<14} {:<12} {:<20} {:<7} {:>4} {:>9} ", row.get("instance"),
                                 printable(row.get("model")), row.get("gradient_sync"),
                                 row.get("scaling"), row.get("ranks"), row.get("nodes"));
  if (row.get("status") != "ok") {
    return text + fmt::format("{}: {}\n", row.get("status"), printable(row.get("note")));
  }
  text += fmt::format(
      "{:>24} {:>24} {:>10} {:>4} {:>11} {:>11}", time_of(row), usd_of_epoch(row),
      scaled(row.get("images_per_usd"), 1, 0), row.get("efficient") == "1" ? "yes" : "-",
      show_time(number_in(row, "seconds_to_target")), show_usd(number_in(row, "usd_to_target")));
  if (!words.empty()) text += "  " + printable(words);
  return text + run_of(report, row) + remarks_on(row) + "\n";
}

std::string currency_of(const CompareReport& report) {
  return printable(report.costs.front().get("currency"));
}

/// Rows of epochs, of whole instances or of parts of one.
std::vector<const ResultRow*> costs_of(const CompareReport& report, bool whole) {
  std::vector<const ResultRow*> rows;
  for (const ResultRow& row : report.costs) {
    if (!is_throughput(row) && (row.get("whole") == "1") == whole) rows.push_back(&row);
  }
  return rows;
}

std::vector<const ResultRow*> throughput_of(const CompareReport& report) {
  std::vector<const ResultRow*> rows;
  for (const ResultRow& row : report.costs) {
    if (is_throughput(row)) rows.push_back(&row);
  }
  return rows;
}

std::string images_per_s_of(const ResultRow& row) {
  const int digits = number_in(row, "images_per_s") < 1000 ? 1 : 0;
  return with_interval(row.get("images_per_s"), row.get("images_per_s_ci_low"),
                       row.get("images_per_s_ci_high"), 1, digits);
}

/// Whether it is to be preferred: a part of an instance cannot be rented.
std::string_view best_of(const ResultRow& row) {
  if (row.get("whole") != "1") return "part";
  return row.get("efficient") == "1" ? "yes" : "-";
}

constexpr const char* kOfParts =
    "parts of an instance, billed as a whole one; they enter no decision";
constexpr const char* kOfSteps =
    "images of training steps alone: no synchronisation, no input, no evaluation; they enter no "
    "decision";

std::string throughput_table(const CompareReport& report) {
  const std::vector<const ResultRow*> rows = throughput_of(report);
  if (rows.empty()) return "";
  std::string table = fmt::format(
      "\n# {}\n# best: nothing else here is as fast and as cheap; part: of "
      "an "
      "instance that is billed as a whole one\n"
      "{:<14} {:<12} {:<8} {:<6} {:>6} {:>4} {:>9} {:>28} {:>22} {:>4}\n",
      kOfSteps, "instance", "model", "dtype", "step", "batch", "N", "instances", "images/s",
      "cost a million images", "best");
  const auto words = words_apart(rows);
  for (const ResultRow* const row : rows) {
    table += fmt::format("{:<14} {:<12} {:<8} {:<6} {:>6} {:>4} {:>9} ", row->get("instance"),
                         printable(row->get("model")), row->get("dtype"), row->get("step"),
                         row->get("batch"), row->get("ranks"), row->get("nodes"));
    table += row->get("status") != "ok"
                 ? fmt::format("{}: {}\n", row->get("status"), printable(row->get("note")))
                 : fmt::format("{:>28} {:>22} {:>4}{}\n", images_per_s_of(*row),
                               show_usd(number_in(*row, "usd_per_million_images")), best_of(*row),
                               (words.at(row).empty() ? "" : "  " + printable(words.at(row))) +
                                   run_of(report, *row) + remarks_on(*row));
  }
  return table;
}

std::string cost_table(const CompareReport& report) {
  std::string table;
  for (const bool whole : {true, false}) {
    const std::vector<const ResultRow*> rows = costs_of(report, whole);
    if (rows.empty()) continue;
    table += whole ? fmt::format(
                         "\n# cost of an epoch in {}: price x instances x seconds / 3600\n"
                         "# best: nothing else here is as fast and as cheap; "
                         "to accuracy: where a target was set and reached\n",
                         currency_of(report))
                   : fmt::format("\n# {}\n", kOfParts);
    table += fmt::format(
        "{:<14} {:<12} {:<20} {:<7} {:>4} {:>9} {:>24} {:>24} {:>10} {:>4} "
        "{:>11} {:>11}\n",
        "instance", "model", "sync", "scaling", "N", "instances", "an epoch", "its cost",
        "images/cost", "best", "to accuracy", "cost of it");
    const auto words = words_apart(rows);
    for (const ResultRow* const row : rows) table += cost_line(report, *row, words.at(row));
  }
  return table;
}

std::string decision_text(const CompareReport& report) {
  std::string text = table_of_pairs(report.decisions);
  for (const std::string& sentence : sentences_of(report.decisions)) {
    text += printable(sentence) + "\n";
  }
  return text.empty() ? "" : "\n" + text;
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

std::string label_with_differences(const ResultRow& row) {
  const std::string& differs = row.get("differs");
  return row.get("label") + (differs.empty() ? "" : fmt::format(" ({})", differs));
}

/// The ratio's, as "[0.981, 1.042]"; "-" without one.
std::string interval_text(const ResultRow& row) {
  if (row.get("ratio_low").empty()) return "-";
  return fmt::format("[{}, {}]", scaled(row.get("ratio_low"), 1, 3),
                     scaled(row.get("ratio_high"), 1, 3));
}

/// "24 rounds would tell", "4 to 24 launches a side would tell", "1000 or more rounds would tell".
std::string what_would_tell(const CompareReport& report, char letter, double fewest, double most) {
  return fmt::format("{}{:.0f}{} {} would tell",
                     fewest < most ? fmt::format("{:.0f} to ", fewest) : "", most,
                     most < kTooManyRounds ? "" : " or more",
                     report.comparison.paired.contains(letter) ? "rounds" : "launches a side");
}

/// Of one run, those that are wanted.
std::vector<const ResultRow*> cells_of(const CompareReport& report, char letter,
                                       bool changed_only) {
  std::vector<const ResultRow*> cells;
  for (const ResultRow& row : report.comparison.rows) {
    const bool unwanted = changed_only && row.get("verdict") == "SAME";
    if (row.get("letter")[0] == letter && !unwanted) cells.push_back(&row);
  }
  return cells;
}

std::string line(const CompareReport& report, const ResultRow& row, std::size_t width) {
  const std::string& verdict = row.get("verdict");
  std::string text = fmt::format(
      "{:<{}} {:>11} {:>11} {:>7} {:>16} {:>7} {:<9} {:>24}",
      printable(label_with_differences(row)), width, time_text(row.get("seconds_a")),
      time_text(row.get("seconds_b")), scaled(row.get("ratio"), 1, 3), interval_text(row),
      show_p(row.get("p_holm")),
      verdict.empty() ? row.get("status") == "skipped" ? "skipped" : "-" : verdict, rate_text(row));
  if (!row.get("rounds_needed").empty()) {
    const double needed = number_in(row, "rounds_needed");
    text += "  " + what_would_tell(report, row.get("letter")[0], needed, needed);
  }
  text += remarks_on(row);
  return text.erase(text.find_last_not_of(' ') + 1) + "\n";
}

std::string cells_table(const CompareReport& report, char letter, bool changed_only) {
  std::size_t width = 4;
  for (const ResultRow* const row : cells_of(report, letter, false)) {
    width = std::max(width, printable(label_with_differences(*row)).size());
  }
  width = std::min<std::size_t>(width, 72);
  std::string table = fmt::format("{:<{}} {:>11} {:>11} {:>7} {:>16} {:>7} {:<9} {:>24}\n", "cell",
                                  width, "A", letter, "ratio", "interval", "p", "verdict", "rate");
  for (const ResultRow* const row : cells_of(report, letter, changed_only)) {
    table += line(report, *row, width);
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

std::string efficiency_table(const CompareReport& report, char letter) {
  std::string table;
  const auto add = [&](const std::string& label, const std::string& a, const std::string& b) {
    table += fmt::format("{:<52} {:>26} {:>26}\n", label, a, b);
  };
  for (const ResultRow* const row : cells_of(report, letter, false)) {
    if ((row->get("efficiency_a") + row->get("efficiency_b")).empty()) continue;
    if (table.empty()) {
      table = "\n";
      add("efficiency against one_device (no test)", "A", std::string(1, letter));
    }
    add(printable(label_with_differences(*row)), efficiency_text(*row, 'a'),
        efficiency_text(*row, 'b'));
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
    const std::string on = printable(run.instance->name);
    text +=
        std::isnan(run.instance->usd_per_hour)
            ? fmt::format("#    on {}, of which the catalog has no price\n", on)
            : fmt::format("#    on {} at {} {} an hour ({}, {})\n", on, run.instance->usd_per_hour,
                          run.instance->currency, run.instance->price_date,
                          users ? kUsersPrice : "by the catalog, which names its source");
  }
  if (run.letter == 'A') return text;
  if (!of_set(run.differences, "key").empty()) {
    text += fmt::format("# {} is another machine than A; times differ for that reason too\n",
                        run.letter);
  }
  return text + difference_table(run.differences, run.config);
}

/// The cell of a run that is farthest from A among those with this verdict; null: there is none.
const ResultRow* farthest(const CompareReport& report, char letter, std::string_view verdict) {
  const ResultRow* found = nullptr;
  const auto distance = [](const ResultRow& row) {
    return std::abs(std::log(number_in(row, "ratio")));
  };
  for (const ResultRow* const row : cells_of(report, letter, false)) {
    if (row->get("verdict") != verdict) continue;
    if (found == nullptr || distance(*row) > distance(*found)) found = row;
  }
  return found;
}

std::size_t count_of(const CompareReport& report, char letter, std::string_view verdict) {
  return static_cast<std::size_t>(
      std::ranges::count_if(report.comparison.rows, [&](const ResultRow& row) {
        return row.get("letter")[0] == letter && row.get("verdict") == verdict;
      }));
}

/// "SLOWER in 2 of 12 cells, most in allreduce ring mpi 1 MiB N=2: 1.300 times A's time [1.250,
/// 1.362]"; empty where no cell has the verdict.
std::string difference_of(const CompareReport& report, char letter, std::string_view verdict) {
  const ResultRow* const most = farthest(report, letter, verdict);
  if (most == nullptr) return "";
  return fmt::format("{} in {} of {} cells, most in {}: {} times A's time {}", verdict,
                     count_of(report, letter, verdict), cells_of(report, letter, false).size(),
                     printable(label_with_differences(*most)), scaled(most->get("ratio"), 1, 3),
                     interval_text(*most));
}

/// "3 of 12 cells UNDECIDED: 24 to 90 rounds would tell"
std::string undecided_of(const CompareReport& report, char letter) {
  double fewest = kTooManyRounds, most = 0;
  for (const ResultRow* const row : cells_of(report, letter, false)) {
    if (row->get("verdict") != "UNDECIDED") continue;
    fewest = std::min(fewest, number_in(*row, "rounds_needed"));
    most = std::max(most, number_in(*row, "rounds_needed"));
  }
  return fmt::format("{} of {} cells UNDECIDED: {}", count_of(report, letter, "UNDECIDED"),
                     cells_of(report, letter, false).size(),
                     what_would_tell(report, letter, fewest, most));
}

/// What was found of one run, in a line.
std::string answer_of(const CompareReport& report, char letter) {
  std::vector<std::string> parts;
  for (const char* const verdict : {"SLOWER", "FASTER"}) {
    std::string part = difference_of(report, letter, verdict);
    if (!part.empty()) parts.push_back(std::move(part));
  }
  if (count_of(report, letter, "UNDECIDED") > 0) parts.push_back(undecided_of(report, letter));
  const std::size_t same = count_of(report, letter, "SAME");
  if (parts.empty() && same > 0) parts.push_back("no difference: every tested cell is the SAME");
  if (parts.empty()) parts.emplace_back("nothing was tested");
  return fmt::format("{} against A: {}\n", letter, fmt::join(parts, "; "));
}

}  // namespace

std::string summary_of(const CompareReport& report) {
  const Comparison& found = report.comparison;
  if (report.runs.size() == 1) return "";
  std::string text =
      fmt::format("{} cells: {} SAME, {} FASTER, {} SLOWER, {} UNDECIDED, {} MISSING",
                  found.tested() + found.missing, found.same, found.faster, found.slower,
                  found.undecided, found.missing);
  if (found.skipped > 0) text += fmt::format("; {} skipped by both", found.skipped);
  if (found.not_tested > 0) text += fmt::format("; {} shown, not tested", found.not_tested);
  text += fmt::format("; differences up to {:.0f} % do not count, of latencies {:.0f} %\n",
                      100 * kFloor, 100 * kLatencyFloor);
  // A build may be blamed for what a neighbour did.
  const CompareReport::Run &a = report.runs[0], &b = report.runs[1];
  if (found.differ_apart && !a.instance && a.folder != b.folder) {
    text += "measured apart: what the machine did in between counts, too (--build: in turns)\n";
  }
  for (const CompareReport::Run& run : report.runs) {
    if (run.letter != 'A') text += answer_of(report, run.letter);
  }
  return text;
}

/// Machines first, then cells, efficiency, cost; the answer last.
std::string compare_table(const CompareReport& report, bool changed_only) {
  std::string table;
  for (const CompareReport::Run& run : report.runs) table += heading(run);
  for (const CompareReport::Run& run : report.runs) {
    if (run.letter == 'A') continue;
    table += fmt::format(
        "\n# {} against A: medians of launches; ratio: the middle of {} (Hodges-Lehmann), above 1: "
        "{} took longer; 95 % interval; p after Holm\n",
        run.letter,
        report.comparison.paired.contains(run.letter)
            ? "its rounds' ratios, as both were measured in turns"
            : "all ratios of their launches",
        run.letter);
    table += cells_table(report, run.letter, changed_only) + efficiency_table(report, run.letter);
  }
  table += cost_table(report) + throughput_table(report);
  return table + (report.runs.size() > 1 ? "\n" : "") + summary_of(report) + decision_text(report);
}

}  // namespace scalebench
