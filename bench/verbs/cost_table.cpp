// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/cost_table.hpp"

#include <fmt/format.h>

#include "bench/cli/printable.hpp"
#include "bench/number_text.hpp"

namespace scalebench {
namespace {

std::string with_interval(const ResultRow& row, const std::string& stem, const std::string& value,
                          int digits) {
  const std::string text = scaled(row.get(value), 1, digits);
  if (row.get(stem + "_ci_low").empty()) return text;
  return fmt::format("{} [{}, {}]", text, scaled(row.get(stem + "_ci_low"), 1, digits),
                     scaled(row.get(stem + "_ci_high"), 1, digits));
}

std::string line(const ResultRow& row) {
  std::string text = fmt::format("{:<14} {:<12} {:<20} {:<7} {:>4} {:>5} ", row.get("instance"),
                                 printable(row.get("model")), row.get("gradient_sync"),
                                 row.get("scaling"), row.get("ranks"), row.get("nodes"));
  if (row.get("status") != "ok") {
    return text + fmt::format("{}: {}\n", row.get("status"), printable(row.get("note")));
  }
  text += fmt::format(
      "{:>26} {:>28} {:>12} {:>6} {:>11} {:>11}",
      with_interval(row, "seconds", "seconds_median", 3),
      with_interval(row, "usd_per_epoch", "usd_per_epoch", 6),
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
  for (const ResultRow& row : rows) table += line(row);
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
