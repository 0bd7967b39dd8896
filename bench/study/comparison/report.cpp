// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "bench/cli/console.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/pairs.hpp"
#include "bench/study/comparison/decision.hpp"

namespace scalebench {
namespace {

/// Behind a line: where it is from unless it was measured, and its note.
std::string remarks(const std::string& origin, const std::string& note) {
  return (origin == "measured" ? "" : "  " + origin) + (note.empty() ? "" : "  " + printable(note));
}

/// Behind a cost: its run, where another one was on that type too.
std::string run_of(const CompareReport& report, const Cost& cost) {
  const bool several = std::ranges::any_of(report.costs, [&](const Cost& other) {
    return other.instance.name == cost.instance.name && other.run_id != cost.run_id;
  });
  return several ? "  run " + printable(cost.run_id) : "";
}

std::string cost_line(const CompareReport& report, const Cost& cost) {
  std::string text = fmt::format("{:<14} {:>9} ", cost.instance.name, cost.nodes);
  if (cost.is_timed()) {
    const LaunchInterval time = cost.time();
    text += fmt::format("{:>10} {:>24} {:>10} {:>4}  ",
                        std::isnan(cost.images) ? "-" : fmt::format("{}", cost.images),
                        show_time(time.value, time.low, time.high), show_usd(cost.usd()),
                        !cost.whole      ? "part"
                        : cost.efficient ? "yes"
                                         : "-");
  }
  text += printable(cost.label);
  if (!cost.is_timed()) return fmt::format("{}  {}: {}\n", text, cost.status, printable(cost.note));
  return text + run_of(report, cost) + remarks(cost.origin, cost.note) + "\n";
}

std::string cost_table(const CompareReport& report) {
  if (report.costs.empty()) return "";
  std::string table = fmt::format(
      "\n# cost in {} of an epoch: price x instances x seconds / 3600\n"
      "# best: nothing else here is as fast and as cheap; part: of an instance, billed as a whole "
      "one\n{:<14} {:>9} {:>10} {:>24} {:>10} {:>4}  {}\n",
      printable(report.costs.front().instance.currency), "instance", "instances", "images", "time",
      "cost", "best", "what");
  for (const Cost& cost : report.costs) table += cost_line(report, cost);
  return table;
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

std::vector<const ResultRow*> cells_of(const CompareReport& report, char letter) {
  std::vector<const ResultRow*> cells;
  for (const ResultRow& row : report.comparison.rows) {
    if (row.get("letter")[0] == letter) cells.push_back(&row);
  }
  return cells;
}

std::string line(const CompareReport& report, const ResultRow& row, std::size_t width) {
  const std::string& verdict = row.get("verdict");
  std::string text = fmt::format(
      "{:<{}} {:>11} {:>11} {:>7} {:>16} {:>7} {:<9}", printable(row.get("label")), width,
      show_time(number_in(row, "seconds_a")), show_time(number_in(row, "seconds_b")),
      scaled(row.get("ratio"), 1, 3), interval_text(row), show_p(row.get("p_holm")),
      verdict.empty() ? row.get("status") == "skipped" ? "skipped" : "-" : verdict);
  if (!row.get("rounds_needed").empty()) {
    const double needed = number_in(row, "rounds_needed");
    text += "  " + what_would_tell(report, row.get("letter")[0], needed, needed);
  }
  text += remarks(row.get("origin"), row.get("note"));
  return text.erase(text.find_last_not_of(' ') + 1) + "\n";
}

std::string cells_table(const CompareReport& report, char letter) {
  std::size_t width = 4;
  for (const ResultRow* const row : cells_of(report, letter)) {
    width = std::max(width, printable(row->get("label")).size());
  }
  width = std::min<std::size_t>(width, 72);
  std::string table = fmt::format("{:<{}} {:>11} {:>11} {:>7} {:>16} {:>7} {:<9}\n", "cell", width,
                                  "A", letter, "ratio", "interval", "p", "verdict");
  for (const ResultRow* const row : cells_of(report, letter)) {
    table += line(report, *row, width);
  }
  return table;
}

std::string heading(const ComparedRun& run) {
  const Manifest& manifest = run.manifest;
  std::string text =
      fmt::format("# {}: {} ({}, {}{})\n", run.letter, printable(manifest.run_id),
                  manifest.started_utc, manifest.origin, run.letter == 'A' ? ", the baseline" : "");
  if (run.instance && std::isnan(run.instance->usd_per_hour)) {
    text += fmt::format("#    on {}, of which the catalog has no price\n",
                        printable(run.instance->name));
  } else if (run.instance) {
    const bool users = run.instance->price_source == kUsersPrice;
    text += fmt::format("#    on {} at {} {} an hour ({}, {})\n", printable(run.instance->name),
                        run.instance->usd_per_hour, run.instance->currency,
                        run.instance->price_date, users ? kUsersPrice : "by the catalog");
  }
  if (run.letter == 'A') return text;
  if (of_other_machines(run.differences)) {
    text += fmt::format("# {} is another machine than A; times differ for that reason too\n",
                        run.letter);
  }
  return text + difference_table(run.differences);
}

/// "SLOWER in 2 of 12 cells, most in allreduce ring mpi 1 MiB N=2: 1.300 times A's time [1.250,
/// 1.362]"; empty where no cell has the verdict.
std::string difference_of(const CompareReport& report, char letter, std::string_view verdict) {
  std::vector<const ResultRow*> cells = cells_of(report, letter);
  const std::size_t all = cells.size();
  std::erase_if(cells, [&](const ResultRow* row) { return row->get("verdict") != verdict; });
  if (cells.empty()) return "";
  const ResultRow& most = **std::ranges::max_element(
      cells, {}, [](const ResultRow* row) { return std::abs(std::log(number_in(*row, "ratio"))); });
  return fmt::format("{} in {} of {} cells, most in {}: {} times A's time {}", verdict,
                     cells.size(), all, most.get("label"), scaled(most.get("ratio"), 1, 3),
                     interval_text(most));
}

/// "3 of 12 cells UNDECIDED: 24 to 90 rounds would tell"
std::string undecided_of(const CompareReport& report, char letter) {
  double fewest = kTooManyRounds, most = 0;
  for (const ResultRow* const row : cells_of(report, letter)) {
    if (row->get("verdict") != "UNDECIDED") continue;
    fewest = std::min(fewest, number_in(*row, "rounds_needed"));
    most = std::max(most, number_in(*row, "rounds_needed"));
  }
  return fmt::format(
      "{} of {} cells UNDECIDED: {}", report.comparison.count(Verdict::undecided, letter),
      cells_of(report, letter).size(), what_would_tell(report, letter, fewest, most));
}

/// What was found of one run, in a line.
std::string answer_of(const CompareReport& report, char letter) {
  std::vector<std::string> parts;
  for (const char* const verdict : {"SLOWER", "FASTER"}) {
    std::string part = difference_of(report, letter, verdict);
    if (!part.empty()) parts.push_back(std::move(part));
  }
  const Comparison& found = report.comparison;
  if (found.count(Verdict::undecided, letter) > 0) parts.push_back(undecided_of(report, letter));
  if (parts.empty() && found.count(Verdict::same, letter) > 0)
    parts.push_back("no difference: every tested cell is the SAME");
  if (parts.empty()) parts.emplace_back("nothing was tested");
  return fmt::format("{} against A: {}", letter, fmt::join(parts, "; "));
}

/// How many cells were the same, faster and so on, and what that comes to for each run.
std::vector<std::string> summary_of(const CompareReport& report) {
  const Comparison& found = report.comparison;
  if (report.runs.size() == 1) return {};
  const std::size_t missing = found.count(Verdict::missing);
  std::string text = fmt::format(
      "{} cells: {} SAME, {} FASTER, {} SLOWER, {} UNDECIDED, {} MISSING", found.tested() + missing,
      found.count(Verdict::same), found.count(Verdict::faster), found.count(Verdict::slower),
      found.count(Verdict::undecided), missing);
  if (found.skipped > 0) text += fmt::format("; {} skipped by both", found.skipped);
  if (found.not_tested > 0) text += fmt::format("; {} shown, not tested", found.not_tested);
  text += fmt::format("; differences up to {:.0f} % do not count, of latencies {:.0f} %",
                      100 * kFloor, 100 * kLatencyFloor);
  std::vector<std::string> lines{text};
  // A build may be blamed for what a neighbour did.
  const ComparedRun &a = report.runs[0], &b = report.runs[1];
  if (found.differ_apart && !a.instance && a.folder != b.folder) {
    lines.emplace_back(
        "measured apart: what the machine did in between counts, too (--build: in turns)");
  }
  for (const ComparedRun& run : report.runs) {
    if (run.letter != 'A') lines.push_back(answer_of(report, run.letter));
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text = lines.empty() ? "" : "\n";
  for (const std::string& line : lines) text += printable(line) + "\n";
  return text;
}

}  // namespace

std::vector<std::string> answers_of(const CompareReport& report) {
  std::vector<std::string> lines = summary_of(report);
  std::ranges::move(sentences_of(report.decisions), std::back_inserter(lines));
  return lines;
}

/// Machines first, then cells, cost; the answer last.
std::string compare_table(const CompareReport& report) {
  std::string table;
  for (const ComparedRun& run : report.runs) table += heading(run);
  for (const ComparedRun& run : report.runs) {
    if (run.letter == 'A') continue;
    table += fmt::format(
        "\n# {} against A: medians of launches; ratio: the middle of {} (Hodges-Lehmann), above 1: "
        "{} took longer; 95 % interval; p after Holm\n",
        run.letter,
        report.comparison.paired.contains(run.letter)
            ? "its rounds' ratios, as both were measured in turns"
            : "all ratios of their launches",
        run.letter);
    table += cells_table(report, run.letter);
  }
  table += cost_table(report) + joined(summary_of(report));
  const std::string pairs = table_of_pairs(report.decisions);
  const std::string said = joined(sentences_of(report.decisions));
  return table + (pairs.empty() ? said : "\n" + pairs + said.substr(1));
}

}  // namespace scalebench
