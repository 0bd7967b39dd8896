// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "bench/hosts/compute.hpp"
#include "bench/machine/identity.hpp"
#include "bench/program/host_names.hpp"
#include "bench/program/words.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/suspects.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

constexpr int kRoundTrips = 40;  // round trips of each pair: of 2 % lost, both ways, nearly two
constexpr double kHostSeconds = 0.15;  // the watchdog waits a hundred times as long for each host

std::size_t place_of(int host) { return static_cast<std::size_t>(host); }

ResultRow link_row(const HostReport& report, const Recorder& recorder, const Link& link) {
  const std::string &from = report.hosts[place_of(link.from)],
                    &to = report.hosts[place_of(link.to)];
  ResultRow row = recorder.side_row(links_schema(), fmt::format("link from={} to={}", from, to));
  row.set("status", "ok").set("nodes", report.hosts.size()).set("from_host", from);
  row.set("to_host", to).set("message_bytes", link.bytes);
  row.set("gb_per_s", link.bytes_per_second() / 1e9);
  row.set("latency_seconds", link.latency_seconds).set("tail_seconds", link.tail_seconds);
  row.set("messages", link.messages).set("late", link.late).set("lost", link.lost());
  return row.set("retransmits", link.retransmits);
}

ResultRow host_row(const HostReport& report, const Recorder& recorder, const HostVerdict& host) {
  const std::string& name = report.hosts[place_of(host.host)];
  ResultRow row = recorder.side_row(suspects_schema(), fmt::format("host name={}", name));
  row.set("status", "ok").set("note", host.why()).set("nodes", report.hosts.size());
  row.set("host", name).set("verdict", name_of(host.fault));
  row.set("send_gb_per_s", host.sends.bytes_per_second() / 1e9);
  row.set("receive_gb_per_s", host.receives.bytes_per_second() / 1e9);
  if (host.send_relative) row.set("send_relative", *host.send_relative);
  if (host.receive_relative) row.set("receive_relative", *host.receive_relative);
  row.set("latency_seconds", host.sends.latency_seconds).set("tail_seconds", host.tail_seconds);
  row.set("messages", host.messages).set("lost", host.lost);
  row.set("retransmits", host.retransmits).set("compute_seconds", host.compute_seconds);
  if (host.compute_relative) row.set("compute_relative", *host.compute_relative);
  return row.set("launches", 1).set("accused", host.fault == Fault::none ? 0 : 1);
}

/// Of two looks at the processors the shorter time of each host.
std::vector<double> shorter_of(std::vector<double> a, const std::vector<double>& b) {
  std::ranges::transform(a, b, a.begin(), [](double x, double y) { return std::min(x, y); });
  return a;
}

}  // namespace

void add_host_options(CLI::App& app, HostOptions& options) {
  const Heading parallelism(app, kParallelism);
  app.add_flag("!--no-links", options.look,
               "of several hosts, leave out the first look at each one's link and processor");
  add_fail_on_option(app, options.fail_on_host);
}

std::vector<std::string> HostReport::named() const {
  std::vector<std::string> lines;
  for (const HostVerdict& one : verdicts) {
    if (one.fault != Fault::none) lines.push_back(hosts[place_of(one.host)] + ", " + one.why());
  }
  return lines;
}

HostReport look_at_hosts(const Ranks& ranks, const HostLook& look) {
  HostReport report;
  Communicator& host = ranks.host;
  const Topology topology = host.topology();
  if (!look.options.look || topology.nodes() < 2) return report;
  report.hosts = host_names(topology, all_gather(host, ranks.session.host()));
  // Hosts that are one machine have equal texts, which may be empty.
  const std::vector<std::string> machines = of_hosts(topology, all_gather(host, boot_id()));
  look.console.note(fmt::format("looking at links and processors of {} hosts", topology.nodes()));
  Watchdog& watchdog = ranks.watchdog;
  watchdog.cell(fmt::format("links and processors of {} hosts", topology.nodes()));
  watchdog.expect(kHostSeconds * topology.nodes());
  const auto mark = [&] {
    watchdog.enter();
    watchdog.leave();
  };
  std::vector<double> compute = probe_compute(host, machines, mark);
  report.links = probe_links(host, kRoundTrips, mark);
  report.verdicts = judge_hosts(report.links, compute);
  if (processors_in_doubt(report.verdicts)) {
    compute = shorter_of(compute, probe_compute(host, machines, mark));
    report.verdicts = judge_hosts(report.links, compute);
  }
  if (links_in_doubt(report.links, report.verdicts)) {
    report.links = merged(report.links, probe_links(host, 2 * kRoundTrips, mark));
    report.verdicts = judge_hosts(report.links, compute);
  }
  watchdog.end_cell();
  const std::vector<std::string> notes =
      notes_of_pairs(report.links, report.verdicts, report.hosts);
  for (std::size_t i = 0; i < notes.size(); ++i) {
    report.link_rows.push_back(
        link_row(report, look.recorder, report.links[i]).set("note", notes[i]));
  }
  for (const HostVerdict& one : report.verdicts) {
    report.rows.push_back(host_row(report, look.recorder, one));
  }
  SideFile links_file(ranks, look.record, links_schema());
  SideFile hosts_file(ranks, look.record, suspects_schema());
  for (const ResultRow& row : report.link_rows) links_file.write(row);
  for (const ResultRow& row : report.rows) hosts_file.write(row);
  look.recorder.name_suspects(report.rows, report.link_rows);
  for (const std::string& line : report.named()) look.console.warn(line);
  return report;
}

std::string host_table(const HostReport& report) {
  if (report.verdicts.empty()) return "";
  const auto percent = [](const std::optional<double>& relative) {
    return relative ? fmt::format("{:.0f}", 100 * *relative) : std::string("-");
  };
  std::string text = fmt::format(
      "# hosts: fastest message to and from any other; processor: speed in per cent of the others' "
      "median\n#{:>11} {:>12} {:>13} {:>10} {:>12} {:>14}  host\n",
      "out (GB/s)", "in (GB/s)", "latency (us)", "tail (ms)", "lost", "processor (%)");
  for (const HostVerdict& one : report.verdicts) {
    text += fmt::format("#{:>11.4g} {:>12.4g} {:>13.1f} {:>10.1f} {:>12} {:>14}  {}\n",
                        one.sends.bytes_per_second() / 1e9, one.receives.bytes_per_second() / 1e9,
                        one.sends.latency_seconds * 1e6, one.tail_seconds * 1e3,
                        fmt::format("{} of {}", one.lost, one.messages),
                        percent(one.compute_relative), report.hosts[place_of(one.host)]);
  }
  return text;
}

ExitCode conclude(const HostReport& report, const HostOptions& options, std::string_view format,
                  Console& console, ExitCode code) {
  const std::string line = suspect_line(report.rows, report.link_rows);
  if (line.empty()) return code;
  if (format == "json") console.result(suspects_json(report.rows, report.link_rows).dump() + "\n");
  if (format == "csv" || format == "json") {
    console.last_word(line);
  } else {
    console.result(line + "\n");
  }
  const bool named = !report.named().empty();
  return named && options.fail_on_host && code == ExitCode::ok ? ExitCode::regression : code;
}

}  // namespace scalebench
