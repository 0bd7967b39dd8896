// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/fit_table.hpp"

#include <fmt/format.h>

#include "bench/cli/size.hpp"
#include "bench/number_text.hpp"

namespace scalebench {
namespace {

std::string line(const ResultRow& row) {
  std::string text =
      fmt::format("{:<20} {:<14} {:<8} {:<9} {:>7} ", row.get("algorithm"), row.get("transport"),
                  row.get("dtype"), row.get("op"), row.get("ranks"));
  if (row.get("status") != "ok") {
    return text + fmt::format("{}: {}\n", row.get("status"), row.get("note"));
  }
  // A microsecond a step; nanoseconds a thousand bytes are picoseconds a byte.
  text += fmt::format("{:>9} {:>9} {:>9} {:>7} % {:>7} % at {}",
                      scaled(row.get("alpha_seconds"), 1e6, 3),
                      scaled(row.get("beta_seconds_per_byte"), 1e12, 1),
                      scaled(row.get("gamma_seconds_per_byte"), 1e12, 1),
                      scaled(row.get("rms_relative_residual"), 100, 1),
                      scaled(row.get("worst_relative_residual"), 100, 1),
                      show_size(static_cast<std::size_t>(std::stod(row.get("worst_bytes")))));
  if (row.get("origin") != "measured") text += "  " + row.get("origin");
  return text + "\n";
}

}  // namespace

std::string fit_table(const std::vector<ResultRow>& rows) {
  if (rows.empty()) return "";
  std::string table =
      "# t = alpha * steps + beta * bytes sent + gamma * bytes reduced, fitted to all sizes; alpha "
      "in us,\n# beta and gamma in ps a byte; without gamma, beta holds both. off: model against "
      "measured\n";
  table += fmt::format("{:<20} {:<14} {:<8} {:<9} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9}\n",
                       "algorithm", "transport", "dtype", "op", "N", "alpha", "beta", "gamma",
                       "rms off", "worst off");
  for (const ResultRow& row : rows) table += line(row);
  return table;
}

}  // namespace scalebench
