// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce_table.hpp"

#include <fmt/format.h>

#include <array>

#include "bench/number_text.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

std::string heading(const std::array<std::string_view, 15>& words) {
  std::string line = fmt::format("#{:>11} {:>12} {:>9} {:>6} {:>5} {:>10}", words[0], words[1],
                                 words[2], words[3], words[4], words[5]);
  for (std::size_t i = 6; i < 11; ++i) line += fmt::format(" {:>10}", words[i]);
  return line +
         fmt::format(" {:>8} {:>8} {:>7} {:>6}\n", words[11], words[12], words[13], words[14]);
}

std::string table_head(const Ranks& ranks, const Communicator& data, const AllreduceMethod& method,
                       const std::string& origin) {
  const std::vector<std::string> hosts = all_gather(ranks.host, ranks.session.host());
  std::string head = fmt::format(
      "# scalebench allreduce: {} rank(s) on {} node(s), transport {}, {}\n", data.size(),
      data.topology().nodes(), data.transport(), MpiSession::library_version());
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    head += fmt::format("#  rank {:3} on {}\n", rank, hosts[rank]);
  }
  head += fmt::format(
      "# in place, {} buffers; a repetition is last end - first start over ranks; time: median, "
      "low\n"
      "# and high: its 95 % interval, *: wider than the target; GB/s are 10^9 bytes a second\n",
      method.cold ? "cold" : "warm");
  if (origin == "emulated") {
    head += "# EMULATED: more ranks than cores on a host: good for correctness, not for speed\n";
  }
  if (data.size() == 1) head += "# one rank: there is nothing to reduce, and busbw is 0\n";
  head += "#\n" + heading({"size", "count", "type", "redop", "root", "algorithm", "time", "low",
                           "high", "min", "max", "algbw", "busbw", "#wrong", "reps"});
  return head + heading({"(B)", "(elements)", "", "", "", "", "(us)", "(us)", "(us)", "(us)",
                         "(us)", "(GB/s)", "(GB/s)", "", ""});
}

std::string table_line(const ResultRow& row) {
  std::string line =
      fmt::format("{:>12} {:>12} {:>9} {:>6} {:>5} {:>10}", row.get("size_bytes"), row.get("count"),
                  row.get("dtype"), row.get("op"), -1, row.get("algorithm"));
  if (row.get("status") != "ok") {
    return line + fmt::format("  {}: {}\n", row.get("status"), row.get("note"));
  }
  for (const std::string_view column :
       {"seconds_median", "seconds_ci_low", "seconds_ci_high", "seconds_min", "seconds_max"}) {
    line += fmt::format(" {:>10}", scaled(row.get(column), 1e6, 2));
  }
  const std::string& wrong = row.get("wrong");
  return line + fmt::format(" {:>8} {:>8} {:>7} {:>6}{}\n", scaled(row.get("algbw_gb_per_s"), 1, 3),
                            scaled(row.get("busbw_gb_per_s"), 1, 3), wrong.empty() ? "N/A" : wrong,
                            row.get("repetitions"), row.get("converged") == "1" ? "" : "*");
}

}  // namespace

void AllreducePrinter::head(const Ranks& ranks, const Communicator& data,
                            const AllreduceMethod& method, const std::string& origin) const {
  const std::string head = table_head(ranks, data, method, origin);
  if (format_ == "table") console_.result(head);
  if (format_ == "csv") console_.result(csv_header(allreduce_schema()));
}

void AllreducePrinter::line(const ResultRow& row) const {
  if (format_ == "table") console_.result(table_line(row));
  if (format_ == "csv") console_.result(csv_line(row));
  if (format_ == "json") console_.result(json_line(row));
}

}  // namespace scalebench
