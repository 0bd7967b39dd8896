// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/text.hpp"

#include <fmt/format.h>

#include "bench/cli/quantity.hpp"
#include "bench/launch/hosts.hpp"

namespace scalebench {
namespace {

std::string certificate_line(const ResultRow& row) {
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
                            interval, show_p(row.get("p_holm")), row.get("verdict"), effect);
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
  for (const ResultRow& row : certificate.rows) table += certificate_line(row);
  return table + conclusion(certificate, failed_launches);
}

namespace {

std::string fit_line(const ResultRow& row) {
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
  for (const ResultRow& row : rows) table += fit_line(row);
  return table;
}

namespace {

std::string scaling_line(const ResultRow& row) {
  std::string text =
      fmt::format("{:<10} {:<11} {:<7} {:>3} ", row.get("model"), row.get("gradient_sync"),
                  row.get("scaling"), ranks_words(row.get("ranks"), row.get("nodes")));
  if (row.get("status") != "ok") {
    return text + fmt::format("{}: {}\n", row.get("status"), row.get("note"));
  }
  text += fmt::format("{:>9} {:>9} {:>24} {:>20} {:>8} {:>8} {:>7} {:>9}",
                      scaled(row.get("h_seconds"), 1, 3), scaled(row.get("ideal_seconds"), 1, 3),
                      with_interval(row.get("seconds_median"), row.get("seconds_ci_low"),
                                    row.get("seconds_ci_high"), 1, 3),
                      with_interval(row.get("speedup"), row.get("speedup_ci_low"),
                                    row.get("speedup_ci_high"), 1, 2),
                      percent(row.get("efficiency")), percent(row.get("efficiency_raw")),
                      scaled(row.get("karp_flatt"), 1, 3), percent(row.get("test_accuracy")));
  if (row.get("origin") != "measured") text += "  " + row.get("origin");
  if (!row.get("note").empty()) text += "  " + row.get("note");
  return text + "\n";
}

}  // namespace

std::string scaling_table(const std::vector<ResultRow>& rows) {
  if (rows.empty()) return "";
  std::string table =
      "# H: one epoch on one device; ideal: H/N; times in seconds, median [interval] over "
      "launches\n"
      "# effic.: against one_device; raw: against a plain loop without synchronisation code\n";
  table +=
      fmt::format("{:<10} {:<11} {:<7} {:>3} {:>9} {:>9} {:>24} {:>20} {:>8} {:>8} {:>7} {:>9}\n",
                  "model", "sync", "scaling", "N", "H", "ideal", "measured", "speedup", "effic.",
                  "raw", "K-F", "accuracy");
  for (const ResultRow& row : rows) table += scaling_line(row);
  return table;
}

}  // namespace scalebench
