// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "bench/cli/quantity.hpp"
#include "bench/machine/environment.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/record/columns.hpp"
#include "collectives/control.hpp"
#include "collectives/transport/nccl.hpp"
#include "kernels/dtype.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kEmulated = "emulated";

int most_often_slowest(const std::vector<Repetition>& repetitions) {
  std::map<int, int> times;
  for (const Repetition& repetition : repetitions) ++times[repetition.slowest_rank];
  return std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; })->first;
}

void set_measurement(ResultRow& row, const Timing& timing) {
  std::vector<double> seconds, skews;
  for (const Repetition& repetition : timing.repetitions) {
    seconds.push_back(repetition.seconds);
    skews.push_back(repetition.skew_seconds);
  }
  const Summary summary = summarise(seconds);
  set_statistics(row, summary, timing.converged && timing.warm);
  set_bandwidth(row, summary.median);
  row.set("first_call_seconds", timing.first_call_seconds).set("skew_seconds", median_of(skews));
  row.set("slowest_rank", most_often_slowest(timing.repetitions));
}

/// Whether so much of what a rank sends passes an emulated link at once that the rate is not the
/// link's; empty: it does not.
std::string burst_note(const AllreduceCase& one, int nodes) {
  constexpr double kMuch = 0.1;
  const double burst = emulated_burst_bytes();
  if (nodes < 2 || burst < kMuch * static_cast<double>(one.bytes())) return "";
  return fmt::format("{}: the emulated one lets {:.0f} bytes pass at once", kBurstNote, burst);
}

/// What the result says of itself, what was put into it on purpose, and whether a link that is
/// emulated was the limit.
std::string note_of(const AllreduceCase& one, const AllreduceResult& result,
                    const AllreduceRowContext& context) {
  std::vector<std::string> notes;
  if (!result.note.empty()) notes.push_back(result.note);
  if (context.method.slower > 0) {
    notes.push_back(fmt::format("{}slower={}", kInjectedNote, context.method.slower));
  }
  const std::string burst = burst_note(one, context.topology.nodes());
  if (result.status == "ok" && !burst.empty()) notes.push_back(burst);
  if (result.status == "ok" && result.timing.start != context.method.start) {
    const double residual = result.timing.residual_seconds;
    notes.push_back(residual > 0
                        ? fmt::format("sync=barrier: the clocks differ by up to {:.2g} s", residual)
                        : "sync=barrier: ranks started late");
  }
  if (result.status == "ok" && context.method.checks == 0) notes.emplace_back("not checked");
  return fmt::format("{}", fmt::join(notes, "; "));
}

}  // namespace

AllreduceMethod method_of(const AllreduceOptions& options, const Recorder& recorder) {
  AllreduceMethod method = options.method;
  // Ranks that share a core cannot spin until a common instant.
  if (recorder.origin() == "emulated") method.start = StartMode::barrier;
  return method;
}

bool uses_devices(const std::vector<LaunchTransport>& transports) {
  return std::ranges::any_of(transports, [](const LaunchTransport& transport) {
    return transport.communicator && transport.place.memory == Memory::device;
  });
}

std::vector<std::string> devices_of(const Ranks& ranks,
                                    const std::vector<LaunchTransport>& transports,
                                    const RankDevices& devices) {
  const bool used = uses_devices(transports);
  return all_gather(ranks.host, used ? device_name(devices.mine) : std::string());
}

ResultRow row_of(const AllreduceRowContext& context, const AllreduceCase& one,
                 const LaunchTransport& transport, const AllreduceResult& result) {
  ResultRow row = context.recorder.case_row(canonical(one, transport.place, context.method));
  if (transport.shares_devices) row.set("origin", kEmulated);
  row.set("status", result.status).set("note", note_of(one, result, context));
  row.set("algorithm", one.algorithm->name).set("transport", transport.place.transport);
  row.set("memory", name_of(transport.place.memory)).set("dtype", name_of(one.dtype));
  const std::optional<Registration> asked = transport.place.registration;
  row.set("register", asked ? name_of(*asked) : transport.registered);
  row.set("op", name_of(one.op)).set("placement", one.placement());
  row.set("mode", fmt::format("{}{}", one.mode(), context.method.graph ? "_graph" : ""));
  row.set("cache", name_of(context.method.cache));
  row.set("size_bytes", one.bytes()).set("nodes", context.topology.nodes());
  if (result.status == "ok") set_measurement(row, result.timing);
  return row;
}

ResultRow sample_head(const AllreduceRowContext& context, const AllreduceCase& one,
                      const LaunchTransport& transport) {
  ResultRow row =
      context.recorder.sample_row(canonical(one, transport.place, context.method), "allreduce");
  if (transport.shares_devices) row.set("origin", kEmulated);
  return row.set("bytes", one.bytes());
}

ResultRow sample_of(ResultRow head, const AllreduceResult& result, std::size_t index) {
  const Repetition& repetition = result.timing.repetitions[index];
  head.set("repetition", index).set("seconds", repetition.seconds);
  head.set("skew_seconds", repetition.skew_seconds).set("slowest_rank", repetition.slowest_rank);
  return head;
}

namespace {

// Our own table: nccl-tests' columns with algorithm and transport, and the interval beside the
// time.

/// As the option's letter, ",R2": what has no column of its own, where it was chosen.
std::string how_of_buffers(const ResultRow& row) {
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

/// A measured case as a line of that table.
std::string table_line_of(const ResultRow& row, bool checked, std::size_t wrong) {
  std::array<std::string, kColumns.size()> cells;
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
  cells[at++] = checked ? fmt::format("{}", wrong) : "N/A";
  cells[at++] = row.get("repetitions").empty() ? "-" : row.get("repetitions");
  std::string text = table_line(' ', cells);
  if (row.get("converged") == "0") text += "*";
  if (!row.get("note").empty()) {
    const bool bad = row.get("status") != "ok";
    text += fmt::format("  {}{}", bad ? row.get("status") + ": " : "", row.get("note"));
  }
  return text + "\n";
}

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
  if (rows.ranks() == 1) text += "# one rank: there is nothing to reduce, and busbw is 0\n";
  return text;
}

void AllreduceReport::skip(const ResultRow& row) {
  std::string text = fmt::format("# skipped: {} on {}: {}\n", row.get("algorithm"),
                                 row.get("transport"), row.get("note"));
  if (std::ranges::find(skipped_, text) != skipped_.end()) return;
  context_.console.result(text);
  skipped_.push_back(std::move(text));
}

void AllreduceReport::head() const {
  if (format_ == "json") return;
  if (format_ == "csv") return context_.console.result(csv_line(allreduce_schema().columns));
  const AllreduceMethod& method = context_.rows.method;
  std::array<std::string_view, kColumns.size()> names, units;
  std::ranges::transform(kColumns, names.begin(), &Column::name);
  std::ranges::transform(kColumns, units.begin(), &Column::unit);
  context_.console.result(fmt::format(
      "# scalebench allreduce\n{}"
      "# {} buffers; a repetition is last end - first start over ranks; time: median, low and "
      "high: its\n"
      "# 95 % interval, *: wider than the target; GB/s are 10^9 bytes a second; bound%: busbw in "
      "per cent\n"
      "# of what memory alone would let it be\n#\n{}\n{}\n",
      who_takes_part(), name_of(method.cache), table_line('#', names), table_line('#', units)));
}

void AllreduceReport::line(const ResultRow& row, std::size_t wrong) {
  if (format_ == "json") return context_.console.result(json_line(row));
  if (format_ == "csv") return context_.console.result(csv_line(row.cells()));
  if (row.get("status") == "skipped") return skip(row);
  const bool checked = context_.rows.method.checks > 0;
  context_.console.result(table_line_of(row, checked, wrong));
}

}  // namespace scalebench
