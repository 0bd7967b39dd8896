// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/result_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "bench/cli/console.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/launch/hosts.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/tables.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kRatesShown = 60;

/// Cases of all ranks together, of allreduce.csv, throughput.csv or kernels.csv.
std::string rates_table(const std::vector<ResultRow>& rows) {
  std::vector<const ResultRow*> cases;
  std::size_t skipped = 0;
  for (const ResultRow& row : rows) {
    const std::string rank = text_in(row, "rank");
    if (!rank.empty() && rank != "all") continue;
    if (row.get("status") == "skipped") {
      ++skipped;
    } else {
      cases.push_back(&row);
    }
  }
  const std::vector<std::string> labels = labels_of(cases);
  std::string table;
  for (std::size_t i = 0; i < std::min(cases.size(), kRatesShown); ++i) {
    const ResultRow& row = *cases[i];
    if (i == 0) table = fmt::format("{:<64} {:>10}  {}\n", "case", "time", "rate [interval]");
    table += fmt::format("{:<64} ", printable(labels[i]));
    const std::string injected = injected_in(row);
    table += row.get("status") != "ok"
                 ? fmt::format("{}: {}\n", row.get("status"), printable(row.get("note")))
                 : fmt::format("{:>10}  {}{}{}\n", show_time(number_in(row, "seconds_median")),
                               rate_of(row), injected.empty() ? "" : "  ", printable(injected));
  }
  if (cases.size() > kRatesShown) {
    table +=
        fmt::format("... and {} more in {}\n", cases.size() - kRatesShown, rows[0].schema().file);
  }
  if (skipped > 0)
    table += fmt::format("{} skipped; {} says why\n", skipped, rows[0].schema().file);
  return table;
}

/// Where three decimals of a second say little, as of a short epoch.
bool is_short(double seconds) { return seconds > 0 && seconds < 0.01; }

/// Seconds with three decimals; short ones with a unit. With the ends of an interval or without.
std::string in_seconds(const ResultRow& row, std::string_view column) {
  const double seconds = number_in(row, column);
  return is_short(seconds) ? show_time(seconds) : scaled(row.get(column), 1, 3);
}
std::string in_seconds(const ResultRow& row, std::string_view column, std::string_view low,
                       std::string_view high) {
  const double seconds = number_in(row, column);
  return is_short(seconds) ? show_time(seconds, number_in(row, low), number_in(row, high))
                           : with_interval(row.get(column), row.get(low), row.get(high), 1, 3);
}

/// "mlp with mirrored on 2 ranks", "mlp with mirrored, weak, on 2 ranks", "mlp on 2 ranks".
std::string subject_of(const ResultRow& row) {
  const std::string& sync = row.get("gradient_sync");
  return fmt::format("{}{}{} on {} ranks", row.get("model"), sync.empty() ? "" : " with " + sync,
                     row.get("scaling") == "weak" ? ", weak," : "",
                     ranks_words(row.get("ranks"), row.get("nodes")));
}

/// What tells the row of each case from others of its subject and origin.
std::vector<std::string> words_apart(const std::vector<ResultRow>& rows) {
  std::vector<const ResultRow*> all;
  std::vector<std::string> names;
  for (const ResultRow& row : rows) {
    all.push_back(&row);
    names.push_back(subject_of(row) + row.get("origin"));
  }
  return words_apart(all, names);
}

std::string scaling_line(const ResultRow& row, const std::string& words) {
  std::string text =
      fmt::format("{:<10} {:<13} {:<7} {:>3} ", row.get("model"), row.get("gradient_sync"),
                  row.get("scaling"), ranks_words(row.get("ranks"), row.get("nodes")));
  const std::string apart = words.empty() ? "" : " " + words;
  if (row.get("status") != "ok") {
    return text + fmt::format("{}: {}{}\n", row.get("status"), row.get("note"), apart);
  }
  text += fmt::format("{:>9} {:>9} {:>24} {:>20} {:>8} {:>20} {:>7} {:>9}",
                      in_seconds(row, "h_seconds"), in_seconds(row, "ideal_seconds"),
                      in_seconds(row, "seconds_median", "seconds_ci_low", "seconds_ci_high"),
                      with_interval(row.get("speedup"), row.get("speedup_ci_low"),
                                    row.get("speedup_ci_high"), 1, 2),
                      percent(row.get("efficiency")),
                      with_interval(row.get("efficiency_raw"), row.get("efficiency_raw_ci_low"),
                                    row.get("efficiency_raw_ci_high"), 100, 1),
                      scaled(row.get("karp_flatt"), 1, 3), percent(row.get("test_accuracy")));
  text += apart;
  if (row.get("origin") != "measured") text += "  " + row.get("origin");
  if (!row.get("note").empty()) text += "  " + row.get("note");
  return text + "\n";
}

}  // namespace

std::string scaling_table(const std::vector<ResultRow>& rows) {
  if (rows.empty()) return "";
  std::string table =
      "# H: one epoch on one device; ideal: H/N, with weak scaling rho H/N; seconds: median "
      "[interval] over launches\n"
      "# speedup, effic. (against one_device) and raw (against a plain loop without "
      "synchronisation code): median [interval] over rounds, each T divided by the H beside it\n";
  table +=
      fmt::format("{:<10} {:<13} {:<7} {:>3} {:>9} {:>9} {:>24} {:>20} {:>8} {:>20} {:>7} {:>9}\n",
                  "model", "sync", "scaling", "N", "H", "ideal", "measured", "speedup", "effic.",
                  "raw, %", "K-F", "accuracy");
  const std::vector<std::string> words = words_apart(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) table += scaling_line(rows[i], words[i]);
  return table;
}

namespace {

/// The loss that scaling.csv calls this row's largest, where losses.csv has it.
const ResultRow* loss_of(const ResultRow& scaling, const std::vector<ResultRow>& losses) {
  constexpr std::array kSame{"case_id", "origin", "ranks", "nodes"};
  for (const ResultRow& row : losses) {
    const auto same = [&](const char* column) { return row.get(column) == scaling.get(column); };
    if (row.get("loss") == scaling.get("largest_loss") && std::ranges::all_of(kSame, same)) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

std::string answer_of(const std::vector<ResultRow>& scaling, const std::vector<ResultRow>& losses) {
  const ResultRow* worst = nullptr;
  for (const ResultRow& row : scaling) {
    const bool counts = row.get("status") == "ok" && row.get("ranks") != "1" &&
                        !row.get("efficiency").empty() && row.get("gradient_sync") != "none" &&
                        row.get("gradient_sync") != "barrier_only";
    if (!counts) continue;
    if (worst == nullptr || number_in(row, "efficiency") < number_in(*worst, "efficiency")) {
      worst = &row;
    }
  }
  if (worst == nullptr) return "";
  const std::string words = words_apart(scaling)[static_cast<std::size_t>(worst - scaling.data())];
  const std::string text = fmt::format(
      "{}{} is farthest from H/N, at an efficiency of {}", subject_of(*worst),
      words.empty() ? "" : " (" + words.substr(1) + ")", percent(worst->get("efficiency")));
  if (losses.empty()) return text + ".\n";
  const ResultRow* const loss = loss_of(*worst, losses);
  if (loss == nullptr) return text + "; no single loss can be told from nothing.\n";
  const auto time = [](const ResultRow& row, std::string_view column) {
    const double seconds = number_in(row, column);
    return is_short(seconds) ? show_time(seconds) : scaled(row.get(column), 1, 3) + " s";
  };
  // Not a part of it: other losses may be gains.
  return fmt::format("{}: {} lost. Its largest loss is {}, {}.\n", text,
                     time(*worst, "lost_seconds"), loss->get("loss"), time(*loss, "seconds"));
}

std::string result_text(const std::vector<ResultRow>& scaling, const std::vector<ResultRow>& losses,
                        const std::vector<std::vector<ResultRow>>& rates) {
  if (scaling.empty()) {
    std::string text;
    for (const std::vector<ResultRow>& rows : rates) text += rates_table(rows);
    return text;
  }
  const std::string answer = answer_of(scaling, losses);
  return scaling_table(scaling) + (answer.empty() ? "" : "\n" + answer);
}

}  // namespace scalebench
