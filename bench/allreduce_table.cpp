// SPDX-License-Identifier: Apache-2.0
// Our own table: nccl-tests' columns with algorithm and transport, and the interval beside the
// time.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/allreduce_report.hpp"
#include "bench/number_text.hpp"

namespace scalebench {
namespace {

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
                                           {"place", "", 9},
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

  void line(const AllreduceLine& line) override {
    const ResultRow& row = line.row;
    if (row.get("status") == "skipped") return skip(row);
    std::array<std::string, kColumns.size()> cells;
    const std::string place = row.get("placement") == "in_place" ? "in" : "out";
    const std::array<std::string, 8> name{row.get("size_bytes"),
                                          row.get("count"),
                                          row.get("dtype"),
                                          row.get("op"),
                                          "-1",
                                          place + (row.get("mode") == "pipelined" ? ",pipe" : ""),
                                          row.get("transport"),
                                          row.get("algorithm")};
    std::ranges::copy(name, cells.begin());
    std::size_t at = name.size();
    for (const std::string_view column :
         {"seconds_median", "seconds_ci_low", "seconds_ci_high", "seconds_min", "seconds_max"}) {
      cells[at++] = scaled(row.get(column), 1e6, 2);
    }
    cells[at++] = scaled(row.get("algbw_gb_per_s"), 1, 3);
    cells[at++] = scaled(row.get("busbw_gb_per_s"), 1, 3);
    const bool bounded = !std::isnan(line.bound_busbw) && !row.get("busbw_gb_per_s").empty();
    cells[at++] = bounded ? scaled(row.get("busbw_gb_per_s"), 100 / line.bound_busbw, 1) : "-";
    cells[at++] = row.get("wrong").empty() ? "N/A" : row.get("wrong");
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

}  // namespace

std::unique_ptr<AllreduceReport> make_allreduce_table(AllreduceReportContext context) {
  return std::make_unique<AllreduceTable>(std::move(context));
}

}  // namespace scalebench
