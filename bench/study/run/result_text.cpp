// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/result_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "bench/cli/console.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/launch/hosts.hpp"
#include "bench/record/columns.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/tables.hpp"

namespace scalebench {
namespace {

/// Of a row's file, what its metric line says.
std::vector<std::string_view> metric_columns(const Schema& schema) {
  if (&schema == &scaling_schema()) {
    return {"model",  "gradient_sync", "scaling",    "ranks",   "nodes",
            "origin", "case_id",       "efficiency", "speedup", "measured_seconds"};
  }
  if (&schema == &throughput_schema()) {
    return {"model", "batch", "ranks", "nodes", "origin", "case_id", "images_per_s"};
  }
  return {"algorithm", "transport", "memory", "dtype",   "size_bytes",
          "ranks",     "nodes",     "origin", "case_id", "busbw_gb_per_s"};
}

/// Empty cells too must be words.
std::string word_of(std::string text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";
  std::ranges::replace_if(
      text, [&](char c) { return kPlain.find(c) == std::string_view::npos; }, '_');
  return text.empty() ? "none" : text;
}

constexpr std::size_t kRatesShown = 60;

/// Cases of all ranks together, of one case file.
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
    if (i == 0) table = fmt::format("{:<64} {:>10}  {}\n", "case", "time", rates_heading(cases));
    table += fmt::format("{:<64} ", printable(labels[i]));
    const std::string injected = injected_in(row);
    table += row.get("status") != "ok"
                 ? fmt::format("{}: {}\n", row.get("status"), printable(row.get("note")))
                 : fmt::format("{:>10}  {}{}{}{}\n", show_time(seconds_in(row)), rate_of(row),
                               native_of(row), injected.empty() ? "" : "  ", printable(injected));
  }
  if (cases.size() > kRatesShown) {
    table +=
        fmt::format("... and {} more in {}\n", cases.size() - kRatesShown, rows[0].schema().file);
  }
  if (skipped > 0)
    table += fmt::format("{} skipped; {} says why\n", skipped, rows[0].schema().file);
  return table;
}

/// So many decimals that the ideal has five digits. All seconds of a row have as many: then who
/// adds or divides them gets what stands beside them.
int decimals_of(const ResultRow& row) {
  const double least =
      std::min(number_in(row, "ideal_seconds"), number_in(row, "measured_seconds"));
  if (!(least > 0)) return 3;
  return std::clamp(4 - static_cast<int>(std::floor(std::log10(least))), 2, 9);
}

std::string lost_of(const ResultRow& row) {
  return scaled(row.get("lost_seconds"), 1, decimals_of(row) - 1);
}

std::string efficiency_of(const ResultRow& row) {
  const std::string text = percent(row.get("efficiency"));
  const std::string &low = row.get("efficiency_ci_low"), &high = row.get("efficiency_ci_high");
  if (low.empty()) return text;
  return fmt::format("{} [{}, {}]", text, scaled(low, 100, 1), scaled(high, 100, 1));
}

/// "compute 0.0223 [0.0204, 0.0249]", with `unit` behind the number; empty without a loss.
std::string largest_loss_of(const ResultRow& row, std::string_view between, std::string_view unit) {
  if (row.get("largest_loss").empty()) return "";
  const auto seconds = [&](const char* end) {
    return scaled(row.get(fmt::format("largest_loss_seconds{}", end)), 1, decimals_of(row) - 1);
  };
  std::string text = fmt::format("{}{}{}{}", row.get("largest_loss"), between, seconds(""), unit);
  if (row.get("largest_loss_seconds_ci_low").empty()) return text;
  return text + fmt::format(" [{}, {}]", seconds("_ci_low"), seconds("_ci_high"));
}

std::string scaling_line(const ResultRow& row) {
  const auto seconds = [&](const char* column) {
    return scaled(row.get(column), 1, decimals_of(row));
  };
  const std::string text =
      fmt::format("{:<10} {:<13} {:<7} {:>3} ", row.get("model"), row.get("strategy"),
                  row.get("scaling"), ranks_words(row.get("ranks"), row.get("nodes")));
  const std::string trust = printable(row.get("trust"));
  if (row.get("measured_seconds").empty()) return text + trust + "\n";
  return text + fmt::format("{:>9} {:>9} {:>9} {:>7} {:>22} {:>9}  {:<35} {}\n",
                            seconds("h_seconds"), seconds("ideal_seconds"),
                            seconds("measured_seconds"), scaled(row.get("speedup"), 1, 2),
                            efficiency_of(row), lost_of(row), largest_loss_of(row, " ", ""), trust);
}

bool covers(const ResultRow& row, const std::string& column, double value) {
  return number_in(row, column + "_ci_low") <= value &&
         value <= number_in(row, column + "_ci_high");
}

}  // namespace

std::string metric_lines(const std::vector<ResultRow>& rows) {
  std::string lines;
  for (const ResultRow& row : rows) {
    const std::string rank = text_in(row, "rank");
    if (row.get("status") != "ok" || (!rank.empty() && rank != "all")) continue;
    lines += "scalebench:";
    for (const std::string_view column : metric_columns(row.schema())) {
      lines += fmt::format(" {}={}", column, word_of(row.get(column)));
    }
    lines += "\n";
  }
  return lines;
}

std::string scaling_table(const std::vector<ResultRow>& rows) {
  if (rows.empty()) return "";
  std::string table =
      "# Seconds of an epoch, means over rounds. H: on one device; ideal: rho H/N; lost: measured "
      "- "
      "ideal; effic.: ideal / measured\n";
  table +=
      fmt::format("{:<10} {:<13} {:<7} {:>3} {:>9} {:>9} {:>9} {:>7} {:>22} {:>9}  {:<35} {}\n",
                  "model", "strategy", "scaling", "N", "H", "ideal", "measured", "speedup",
                  "effic. [interval]", "lost", "largest loss [interval]", "trust");
  for (const ResultRow& row : rows) table += scaling_line(row);
  return table;
}

std::string answer_of(const std::vector<ResultRow>& summary) {
  const ResultRow* worst = nullptr;
  for (const ResultRow& row : summary) {
    const std::string& strategy = row.get("strategy");
    const std::string sync = strategy.substr(0, strategy.find(','));
    const bool counts = row.get("ranks") != "1" && !row.get("efficiency").empty() &&
                        sync != "none" && sync != "barrier_only";
    if (!counts) continue;
    if (worst == nullptr || number_in(row, "efficiency") < number_in(*worst, "efficiency")) {
      worst = &row;
    }
  }
  if (worst == nullptr) return "";
  const ResultRow& row = *worst;
  const std::string& strategy = row.get("strategy");
  std::string text = fmt::format(
      "{}{}{} on {} ranks is farthest from H/N, at an efficiency of {}: {} of {} s are lost",
      row.get("model"), strategy.empty() ? "" : " with " + strategy,
      row.get("scaling") == "weak" ? ", weak," : "",
      ranks_words(row.get("ranks"), row.get("nodes")), efficiency_of(row), lost_of(row),
      scaled(row.get("measured_seconds"), 1, decimals_of(row)));
  if (covers(row, "efficiency", 1)) text += ", which cannot be told from nothing";
  if (row.get("efficiency_ci_low").empty()) text += "; nothing says what of it is chance";
  const std::string loss = largest_loss_of(row, ", ", " s");
  if (loss.empty()) return text + ".\n";
  const bool told = !covers(row, "largest_loss_seconds", 0);
  return fmt::format("{}. Its largest loss is {}{}.\n", text, loss,
                     told ? "" : ", which cannot be told from nothing");
}

std::string result_text(const std::vector<ResultRow>& summary,
                        const std::vector<std::vector<ResultRow>>& rates) {
  if (summary.empty()) {
    std::string text;
    for (const std::vector<ResultRow>& rows : rates) text += rates_table(rows);
    return text;
  }
  const std::string answer = answer_of(summary);
  return scaling_table(summary) + (answer.empty() ? "" : "\n" + answer);
}

}  // namespace scalebench
