// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "bench/cli/quantity.hpp"
#include "bench/machine/environment.hpp"
#include "collectives/transport/nccl.hpp"

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

  void line(const AllreduceLine& line) override {
    const ResultRow& row = line.row;
    if (row.get("status") == "skipped") return skip(row);
    std::array<std::string, kColumns.size()> cells;
    std::string place = row.get("placement") == "in_place" ? "in" : "out";
    if (row.get("mode") == "pipelined") place += ",pipe";
    place += how_of_buffers(row);
    const std::array<std::string, 8> name{
        row.get("size_bytes"), row.get("count"),    row.get("dtype"), row.get("op"), "-1", place,
        row.get("transport"),  row.get("algorithm")};
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

// The lines of nccl-tests, for eyes and parsers that know them: out of place and in place side by
// side, comments behind #. Differs where theirs misleads: time is the slowest rank's median batch,
// and the average bus bandwidth names the sizes that it covers.

/// A positive number in `width` characters, with as many decimals as fit, at most two.
std::string fitted(double value, int width) {
  for (const int decimals : {2, 1}) {
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (static_cast<int>(text.size()) < width) return text;
  }
  std::string whole = fmt::format("{:.0f}", value);
  if (static_cast<int>(whole.size()) <= width) return whole;
  return fmt::format("{:.{}e}", value, width >= 7 ? 1 : 0);
}

/// Time, both bandwidths and the wrong elements of one placement.
std::string body(const ResultRow* row) {
  std::string time = "N/A", algbw = "N/A", busbw = "N/A";
  if (row != nullptr && row->get("status") == "ok") {
    time = fitted(std::stod(row->get("seconds_median")) * 1e6, 7);
    algbw = fitted(std::stod(row->get("algbw_gb_per_s")), 6);
    busbw = fitted(std::stod(row->get("busbw_gb_per_s")), 6);
  }
  const std::string wrong = row == nullptr || row->get("wrong").empty() ? "N/A" : row->get("wrong");
  return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", time, algbw, busbw, wrong);
}

class NcclReport final : public AllreduceReport {
 public:
  using AllreduceReport::AllreduceReport;

  void head() override {
    const AllreduceMethod& method = context().rows.method;
    print(fmt::format(
        "# scalebench allreduce in the columns of nccl-tests; validation: {}; time: the slowest "
        "rank's, median of the batches\n#\n{}#\n",
        method.checks, who_takes_part()));
    print(fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:^31}  {:^31}\n", "", "", "", "", "",
                      "out-of-place", "in-place"));
    const auto heads = [&](std::string_view a, std::string_view b, std::string_view c) {
      return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", a, b, b == "algbw" ? "busbw" : b, c);
    };
    print(fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "size", "count", "type",
                      "redop", "root", heads("time", "algbw", "#wrong"),
                      heads("time", "algbw", "#wrong")));
    print(fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "(B)", "(elements)", "", "",
                      "", heads("(us)", "(GB/s)", ""), heads("(us)", "(GB/s)", "")));
  }

  void line(const AllreduceLine& line) override {
    const ResultRow& row = line.row;
    const bool in_place = row.get("placement") == "in_place";
    if (row.get("status") == "skipped") skip(row);
    count(row);
    if (context().both_placements && !in_place) {
      out_of_place_ = row;
      return;
    }
    const ResultRow* out = out_of_place_ ? &*out_of_place_ : (in_place ? nullptr : &row);
    const bool measured =
        row.get("status") != "skipped" || (out != nullptr && out->get("status") != "skipped");
    if (measured) {
      print(fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", row.get("size_bytes"),
                        row.get("count"), row.get("dtype"), row.get("op"), -1, body(out),
                        body(in_place ? &row : nullptr)));
    }
    out_of_place_.reset();
  }

  void foot() override {
    print(fmt::format("# Out of bounds values : {} {}\n", wrong_, wrong_ == 0 ? "OK" : "FAILED"));
    if (measured_ == 0) return print("# Avg bus bandwidth    : nothing was measured\n");
    print(fmt::format("# Avg bus bandwidth    : {:g} (over {} result(s), {} to {}{}{})\n#\n",
                      busbw_ / static_cast<double>(measured_), measured_, show_size(smallest_),
                      show_size(largest_), out_ ? ", out of place" : "", in_ ? ", in place" : ""));
  }

 private:
  void count(const ResultRow& row) {
    if (row.get("status") == "wrong") ++wrong_;
    if (row.get("status") != "ok") return;
    const auto bytes = static_cast<std::size_t>(std::stoull(row.get("size_bytes")));
    ++measured_;
    busbw_ += std::stod(row.get("busbw_gb_per_s"));
    smallest_ = std::min(smallest_, bytes);
    largest_ = std::max(largest_, bytes);
    (row.get("placement") == "in_place" ? in_ : out_) = true;
  }

  std::optional<ResultRow> out_of_place_;
  std::size_t wrong_ = 0;
  std::size_t measured_ = 0;
  double busbw_ = 0;
  std::size_t smallest_ = std::numeric_limits<std::size_t>::max();
  std::size_t largest_ = 0;
  bool in_ = false;
  bool out_ = false;
};

// The columns of osu_allreduce with its full statistics: each rank's mean time of one operation,
// and of these means the average, smallest and largest over ranks.

/// Each rank's mean own time, in seconds.
std::vector<double> means_of_ranks(const Timing& timing, int ranks) {
  std::vector<double> means(static_cast<std::size_t>(ranks));
  for (const Repetition& repetition : timing.repetitions) {
    for (std::size_t rank = 0; rank < means.size(); ++rank) {
      means[rank] += static_cast<double>(repetition.rank_seconds[rank]);
    }
  }
  for (double& mean : means) mean /= static_cast<double>(timing.repetitions.size());
  return means;
}

class OsuReport final : public AllreduceReport {
 public:
  using AllreduceReport::AllreduceReport;

  void head() override {
    print(
        fmt::format("# scalebench allreduce in the columns of osu_allreduce -f\n{}"
                    "{:<10}{:>18}{:>18}{:>18}{:>12}\n",
                    who_takes_part(), "# Size", "Avg Latency(us)", "Min Latency(us)",
                    "Max Latency(us)", "Iterations"));
  }

  void line(const AllreduceLine& line) override {
    const ResultRow& row = line.row;
    if (row.get("status") == "skipped") return skip(row);
    if (row.get("status") != "ok") {
      return print(
          fmt::format("# {} {}: {}\n", row.get("size_bytes"), row.get("status"), row.get("note")));
    }
    const std::vector<double> means = means_of_ranks(line.timing, context().rows.ranks());
    const double average =
        std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size());
    print(fmt::format("{:<10}{:>18.2f}{:>18.2f}{:>18.2f}{:>12}\n", row.get("size_bytes"),
                      1e6 * average, 1e6 * std::ranges::min(means), 1e6 * std::ranges::max(means),
                      line.timing.repetitions.size() * line.timing.operations));
  }
};

class CsvReport final : public AllreduceReport {
 public:
  using AllreduceReport::AllreduceReport;
  void head() override { print(csv_line(allreduce_schema().columns)); }
  void line(const AllreduceLine& line) override { print(csv_line(line.row.cells())); }
};

class JsonReport final : public AllreduceReport {
 public:
  using AllreduceReport::AllreduceReport;
  void line(const AllreduceLine& line) override { print(json_line(line.row)); }
};

}  // namespace

std::unique_ptr<AllreduceReport> make_allreduce_report(std::string_view format,
                                                       AllreduceReportContext context) {
  if (format == "csv") return std::make_unique<CsvReport>(std::move(context));
  if (format == "json") return std::make_unique<JsonReport>(std::move(context));
  if (format == "nccl") return std::make_unique<NcclReport>(std::move(context));
  if (format == "osu") return std::make_unique<OsuReport>(std::move(context));
  return std::make_unique<AllreduceTable>(std::move(context));
}

}  // namespace scalebench
