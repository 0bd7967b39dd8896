// SPDX-License-Identifier: Apache-2.0
#include "bench/study/prediction/text.hpp"

#include <fmt/format.h>

#include "bench/cli/console.hpp"
#include "bench/cli/quantity.hpp"

namespace scalebench {
namespace {

constexpr double kMilli = 1000;

std::string head_of(const ResultRow& row) {
  return fmt::format("{:<14} {:<16} {:<7} {:>5} {:>5} ", printable(row.get("model")),
                     row.get("gradient_sync"), row.get("scaling"), row.get("ranks"),
                     row.get("nodes"));
}

/// "12.34 [12.10, 12.60]", times `factor`.
std::string with_band(const ResultRow& row, const std::string& stem, double factor, int digits) {
  return with_interval(row.get(stem), row.get(stem + "_low"), row.get(stem + "_high"), factor,
                       digits);
}

std::string signed_percent(const std::string& cell) {
  return cell.empty() ? "-" : fmt::format("{:+.1f} %", 100 * std::stod(cell));
}

std::string end_of(const ResultRow& row) {
  return row.get("note").empty() ? "\n" : "  " + printable(row.get("note")) + "\n";
}

std::string skipped(const ResultRow& row) {
  return head_of(row) + fmt::format("not predicted: {}\n", printable(row.get("note")));
}

std::string check_line(const ResultRow& row) {
  return head_of(row) +
         fmt::format("{:>12} {:>28} {:>9}  {:<8}",
                     scaled(row.get("measured_step_seconds"), kMilli, 3),
                     with_band(row, "step_seconds", kMilli, 3), signed_percent(row.get("error")),
                     row.get("held_out") == "1" ? "held out" : "fitted") +
         end_of(row);
}

std::string forecast_line(const ResultRow& row) {
  return head_of(row) +
         fmt::format("{:>28} {:>10} {:>8} {:>24} {:>9} {:>9} {:>9} {:>9}",
                     with_band(row, "step_seconds", kMilli, 3), scaled(row.get("seconds"), 1, 3),
                     scaled(row.get("speedup"), 1, 2), with_band(row, "efficiency", 100, 1) + " %",
                     scaled(row.get("compute_seconds"), kMilli, 3),
                     scaled(row.get("exposed_seconds"), kMilli, 3),
                     scaled(row.get("hidden_seconds"), kMilli, 3),
                     scaled(row.get("wait_seconds"), kMilli, 3)) +
         end_of(row);
}

std::string what_if_line(const ResultRow& row) {
  std::string text = head_of(row) + fmt::format("{:<32} ", row.get("what_if"));
  if (row.get("status") != "ok") return text + printable(row.get("note")) + "\n";
  return text + fmt::format("{:>12} {:>9} {:>8}\n", scaled(row.get("step_seconds"), kMilli, 3),
                            signed_percent(row.get("change")),
                            scaled(row.get("efficiency"), 100, 1) + " %");
}

/// The lines of one kind below `head`, nothing without any.
template <class Line>
std::string part(const std::vector<ResultRow>& rows, std::string_view kind, const std::string& head,
                 Line line) {
  std::string text;
  for (const ResultRow& row : rows) {
    if (row.get("kind") != kind) continue;
    const bool said = row.get("status") == "ok" || kind == "what_if";
    text += said ? line(row) : skipped(row);
  }
  return text.empty() ? text : head + text;
}

}  // namespace

std::string predict_table(const std::vector<ResultRow>& rows) {
  const std::string head =
      fmt::format("{:<14} {:<16} {:<7} {:>5} {:>5} ", "model", "sync", "scaling", "N", "nodes");
  const std::string checks =
      "# predicted against measured: ms a step; everything is fitted without the N that is held "
      "out\n" +
      head + fmt::format("{:>12} {:>28} {:>9}\n", "measured", "predicted", "error");
  const std::string forecasts =
      "# predicted: ms a step [95 % of draws of launches and steps], seconds an epoch; of a step: "
      "compute, exposed\n# and hidden communication, waiting for slower ranks\n" +
      head +
      fmt::format("{:>28} {:>10} {:>8} {:>24} {:>9} {:>9} {:>9} {:>9}\n", "step", "epoch",
                  "speedup", "efficiency", "compute", "exposed", "hidden", "waiting");
  const std::string changes =
      "# what would change: ms a step, against the prediction above, and the efficiency then\n" +
      head + fmt::format("{:<32} {:>12} {:>9} {:>8}\n", "what if", "step", "change", "effic.");
  std::string table;
  for (const std::string& one :
       {part(rows, "check", checks, check_line), part(rows, "forecast", forecasts, forecast_line),
        part(rows, "what_if", changes, what_if_line)}) {
    if (!table.empty() && !one.empty()) table += "\n";
    table += one;
  }
  return table;
}

}  // namespace scalebench
