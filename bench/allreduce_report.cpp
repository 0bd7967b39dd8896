// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce_report.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "bench/number_text.hpp"
#include "bench/record/emulation.hpp"
#include "collectives/nccl_communicator.hpp"

namespace scalebench {
namespace {

class CsvReport final : public AllreduceReport {
 public:
  using AllreduceReport::AllreduceReport;
  void head() override { print(csv_header(allreduce_schema())); }
  void line(const AllreduceLine& line) override { print(csv_line(line.row)); }
};

class JsonReport final : public AllreduceReport {
 public:
  using AllreduceReport::AllreduceReport;
  void line(const AllreduceLine& line) override { print(json_line(line.row)); }
};

}  // namespace

std::string AllreduceReport::who_takes_part() const {
  const AllreduceRowContext& rows = context_.rows;
  std::string text = fmt::format("# {} rank(s) on {} node(s), transport {}, {}", rows.ranks(),
                                 rows.topology.nodes(), fmt::join(context_.transports, ", "),
                                 MpiSession::library_version());
  if (!nccl_version().empty()) text += fmt::format(", NCCL {}", nccl_version());
  text += "\n";
  for (std::size_t rank = 0; rank < rows.hosts.size(); ++rank) {
    const std::string& device = rows.devices[rank];
    text += fmt::format("#  rank {:3} on {}{}{}\n", rank, rows.hosts[rank],
                        device.empty() ? "" : ", ", device);
  }
  if (rows.recorder.origin() == "emulated") {
    const std::string declared = emulation_line();
    text += !declared.empty() ? declared
                              : "# EMULATED: more ranks than cores on a host: good for "
                                "correctness, not for speed\n";
  }
  text += context_.links;
  if (rows.ranks() == 1) text += "# one rank: there is nothing to reduce, and busbw is 0\n";
  return text;
}

void AllreduceReport::skip(const ResultRow& row) {
  std::string text = fmt::format("# skipped: {} on {}: {}\n", row.get("algorithm"),
                                 row.get("transport"), row.get("note"));
  if (std::ranges::find(skipped_, text) != skipped_.end()) return;
  print(text);
  skipped_.push_back(std::move(text));
}

std::unique_ptr<AllreduceReport> make_allreduce_report(std::string_view format,
                                                       AllreduceReportContext context) {
  if (format == "csv") return std::make_unique<CsvReport>(std::move(context));
  if (format == "json") return std::make_unique<JsonReport>(std::move(context));
  if (format == "nccl") return make_nccl_report(std::move(context));
  if (format == "osu") return make_osu_report(std::move(context));
  return make_allreduce_table(std::move(context));
}

std::string rank_table(const std::vector<ResultRow>& rows) {
  std::string text =
      fmt::format("#\n#{:>11} {:>13} {:>20} {:>12} {:>5} {:>11} {:>7}  {}\n", "size", "transport",
                  "algorithm", "place", "rank", "own time", "last", "host");
  text += fmt::format("#{:>11} {:>13} {:>20} {:>12} {:>5} {:>11} {:>7}\n", "(B)", "", "", "", "",
                      "(us)", "(%)");
  for (const ResultRow& row : rows) {
    text += fmt::format(
        "#{:>11} {:>13} {:>20} {:>12} {:>5} {:>11} {:>7}  {}{}{}\n", row.get("size_bytes"),
        row.get("transport"), row.get("algorithm"), row.get("placement"), row.get("rank"),
        scaled(row.get("seconds_median"), 1e6, 2), scaled(row.get("slowest_share"), 100, 0),
        row.get("host"), row.get("device").empty() ? "" : ", ", row.get("device"));
  }
  return text;
}

}  // namespace scalebench
