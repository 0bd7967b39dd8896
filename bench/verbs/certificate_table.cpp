// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/certificate_table.hpp"

#include <fmt/format.h>

#include "bench/cli/size.hpp"
#include "bench/number_text.hpp"

namespace scalebench {
namespace {

/// p-values that round to nothing are named by their bound.
std::string p_text(const std::string& cell) {
  if (cell.empty()) return "-";
  return std::stod(cell) < 0.001 ? "<0.001" : scaled(cell, 1, 3);
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string line(const ResultRow& row) {
  const std::string& bytes = row.get("size_bytes");
  const std::string size = bytes.empty() ? "" : show_size(std::stoul(bytes));
  std::string text = fmt::format("{:<20} {:<14} {:<8} {:>8} ", row.get("algorithm"),
                                 row.get("transport"), row.get("dtype"), size);
  if (row.get("status") != "ok") {
    return text + fmt::format("{}: {}\n", row.get("status"), row.get("note"));
  }
  const std::string interval = row.get("ratio_low").empty()
                                   ? "-"
                                   : fmt::format("[{}, {}]", scaled(row.get("ratio_low"), 1, 3),
                                                 scaled(row.get("ratio_high"), 1, 3));
  const std::string effect =
      row.get("smallest_effect").empty() ? "-" : scaled(row.get("smallest_effect"), 100, 1) + " %";
  return text + fmt::format("{:>11} {:>7} {:>16} {:>7} {:<9} {:>8}\n",
                            scaled(row.get("seconds_a"), 1e6, 2), scaled(row.get("ratio"), 1, 3),
                            interval, p_text(row.get("p_holm")), row.get("verdict"), effect);
}

std::string conclusion(const Certificate& certificate, std::size_t failed_launches) {
  if (certificate.compared == 0) return "NOT CERTIFIED: nothing was measured on both sides\n";
  const double share =
      static_cast<double>(certificate.differing) / static_cast<double>(certificate.cells);
  std::string text = fmt::format("{} of {} cells differ ({}; at most 5 % may)\n",
                                 certificate.differing, certificate.cells, percent(share));
  if (certificate.ambiguous > 0) {
    text +=
        fmt::format("{} of {} are ambiguous: their interval is not within ±3 %, nor clear of it\n",
                    certificate.ambiguous, certificate.cells);
  }
  const std::string effect = percent(certificate.smallest_effect);
  text += fmt::format(
      "spread: 95 % of the cells agree within {}; a difference of {} would have been seen in "
      "95 % of them\n",
      percent(certificate.spread), effect);
  if (!certificate.incomplete.empty()) {
    return text + fmt::format("NOT CERTIFIED: {}\n", certificate.incomplete);
  }
  if (failed_launches > 0) {
    return text + fmt::format("NOT CERTIFIED: {} launches failed\n", failed_launches);
  }
  if (!certificate.certified()) return text + "NOT CERTIFIED: equal things look different here\n";
  return text + fmt::format("CERTIFIED for differences of {} and more\n", effect);
}

}  // namespace

std::string certificate_table(const Certificate& certificate, std::size_t failed_launches) {
  std::string table =
      "# A/A: the same binary against itself; medians of launches, A in us; ratio B/A with its 95 "
      "% "
      "interval\n# p: rank-sum test after Holm; seen from: a smaller difference would not be "
      "found\n";
  table += fmt::format("{:<20} {:<14} {:<8} {:>8} {:>11} {:>7} {:>16} {:>7} {:<9} {:>8}\n",
                       "algorithm", "transport", "type", "size", "A", "ratio", "interval", "p",
                       "verdict", "seen from");
  for (const ResultRow& row : certificate.rows) table += line(row);
  return table + conclusion(certificate, failed_launches);
}

}  // namespace scalebench
