// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/cli/quantity.hpp"
#include "bench/machine/environment.hpp"
#include "bench/record/columns.hpp"
#include "collectives/transport/nccl.hpp"
#include "kernels/dtype.hpp"

namespace scalebench {
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
  text += context_.host_table;
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

namespace {

// Our own table: nccl-tests' columns with algorithm and transport, and the interval beside the
// time.

/// ",huge" or, as the option's letter, ",R2": what has no column of its own, where it was chosen.
std::string how_of_buffers(const ResultRow& row) {
  if (row.get("pages") == name_of(Pages::huge)) return ",huge";
  const std::string& registration = row.get("register");
  const bool usual = registration.empty() || registration == name_of(Registration::local);
  return usual ? "" : ",R" + registration;
}

struct Column {
  std::string_view name;
  std::string_view unit;
  std::size_t width;
};
constexpr std::array<Column, 18> kColumns{{{"size", "(B)", 11},
                                           {"count", "(elements)", 12},
                                           {"type", "", 9},
                                           {"redop", "", 6},
                                           {"root", "", 5},
                                           {"place", "", 13},
                                           {"transport", "", 14},
                                           {"algorithm", "", 20},
                                           {"time", "(us)", 10},
                                           {"low", "(us)", 10},
                                           {"high", "(us)", 10},
                                           {"min", "(us)", 10},
                                           {"max", "(us)", 10},
                                           {"algbw", "(GB/s)", 8},
                                           {"busbw", "(GB/s)", 8},
                                           {"bound%", "", 7},
                                           {"#wrong", "", 7},
                                           {"reps", "", 6}}};

template <class Cells>
std::string table_line(char first, const Cells& cells) {
  std::string line(1, first);
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    line +=
        fmt::format("{:>{}}{}", cells[i], kColumns[i].width, i + 1 < kColumns.size() ? " " : "");
  }
  return line;
}

class AllreduceTable final : public AllreduceReport {
 public:
  using AllreduceReport::AllreduceReport;

  void head() override {
    const AllreduceMethod& method = context().rows.method;
    std::array<std::string_view, kColumns.size()> names, units;
    std::ranges::transform(kColumns, names.begin(), &Column::name);
    std::ranges::transform(kColumns, units.begin(), &Column::unit);
    print(fmt::format(
        "# scalebench allreduce\n{}"
        "# {} buffers; a repetition is last end - first start over ranks; time: median, low and "
        "high: its\n"
        "# 95 % interval, *: wider than the target; GB/s are 10^9 bytes a second; bound%: busbw in "
        "per cent\n"
        "# of what memory alone would let it be\n#\n{}\n{}\n",
        who_takes_part(), name_of(method.cache), table_line('#', names), table_line('#', units)));
  }

  void line(const ResultRow& row, std::size_t wrong) override {
    if (row.get("status") == "skipped") return skip(row);
    std::array<std::string, kColumns.size()> cells;
    const AllreduceMethod& method = context().rows.method;
    const std::size_t element = size_of(*dtype_named(row.get("dtype")));
    std::string place = row.get("placement") == "in_place" ? "in" : "out";
    if (row.get("mode").starts_with("pipelined")) place += ",pipe";
    place += how_of_buffers(row);
    const double bytes = number_in(row, "size_bytes");
    const std::array<std::string, 8> name{row.get("size_bytes"),
                                          fmt::format("{}", bytes / static_cast<double>(element)),
                                          row.get("dtype"),
                                          row.get("op"),
                                          "-1",
                                          place,
                                          row.get("transport"),
                                          row.get("algorithm")};
    std::ranges::copy(name, cells.begin());
    std::size_t at = name.size();
    for (const std::string_view column :
         {"seconds_median", "seconds_ci_low", "seconds_ci_high", "seconds_min", "seconds_max"}) {
      cells[at++] = scaled(row.get(column), 1e6, 2);
    }
    const std::string &busbw = row.get("busbw_gb_per_s"), &bound = row.get("bound_busbw_gb_per_s");
    const double algbw = algbw_gb_per_s(bytes, number_in(row, "seconds_median"));
    cells[at++] = std::isnan(algbw) ? "-" : fmt::format("{:.3f}", algbw);
    cells[at++] = scaled(busbw, 1, 3);
    cells[at++] = bound.empty() ? "-" : scaled(busbw, 100 / std::stod(bound), 1);
    cells[at++] = method.checks == 0 ? "N/A" : fmt::format("{}", wrong);
    cells[at++] = row.get("repetitions").empty() ? "-" : row.get("repetitions");
    std::string text = table_line(' ', cells);
    if (row.get("converged") == "0") text += "*";
    if (!row.get("note").empty()) {
      const bool bad = row.get("status") != "ok";
      text += fmt::format("  {}{}", bad ? row.get("status") + ": " : "", row.get("note"));
    }
    print(text + "\n");
  }
};

class CsvReport final : public AllreduceReport {
 public:
  using AllreduceReport::AllreduceReport;
  void head() override { print(csv_line(allreduce_schema().columns)); }
  void line(const ResultRow& row, std::size_t) override { print(csv_line(row.cells())); }
};

class JsonReport final : public AllreduceReport {
 public:
  using AllreduceReport::AllreduceReport;
  void line(const ResultRow& row, std::size_t) override { print(json_line(row)); }
};

}  // namespace

std::unique_ptr<AllreduceReport> make_allreduce_report(std::string_view format,
                                                       AllreduceReportContext context) {
  if (format == "csv") return std::make_unique<CsvReport>(std::move(context));
  if (format == "json") return std::make_unique<JsonReport>(std::move(context));
  return std::make_unique<AllreduceTable>(std::move(context));
}

}  // namespace scalebench
