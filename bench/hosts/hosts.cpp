// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "bench/hosts/probes.hpp"
#include "bench/machine/identity.hpp"
#include "bench/program/words.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/suspects.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

constexpr int kRoundTrips = 40;  // round trips of each pair: of 2 % lost, both ways, nearly two
constexpr double kHostSeconds = 0.15;  // the watchdog waits a hundred times as long for each host

std::size_t place_of(int host) { return static_cast<std::size_t>(host); }

/// One launch's row of a host, or with `to` of its link to that one; `note` is what speaks against
/// it.
ResultRow row_of(const HostReport& report, const Recorder& recorder, int host, int to,
                 const std::string& note) {
  const std::string& name = report.hosts[place_of(host)];
  const std::string to_name = to < 0 ? std::string() : report.hosts[place_of(to)];
  ResultRow row =
      recorder.side_row(hosts_schema(), fmt::format("host name={} to={}", name, to_name));
  row.set("status", "ok").set("note", note).set("nodes", report.hosts.size());
  row.set("host", name).set("to_host", to_name);
  return row.set("launches", 1).set("accused", note.empty() ? 0 : 1);
}

ResultRow link_row(const HostReport& report, const Recorder& recorder, const Link& link,
                   const std::string& note) {
  ResultRow row = row_of(report, recorder, link.from, link.to, note);
  row.set("gb_per_s", link.bytes_per_second() / 1e9);
  row.set("latency_seconds", link.latency_seconds).set("tail_seconds", link.tail_seconds);
  row.set("messages", link.messages).set("lost", link.lost());
  return row.set("retransmits", link.retransmits);
}

ResultRow host_row(const HostReport& report, const Recorder& recorder, const HostVerdict& host) {
  ResultRow row = row_of(report, recorder, host.host, -1, host.why());
  row.set("verdict", name_of(host.fault)).set("tail_seconds", host.tail_seconds);
  row.set("messages", host.messages).set("lost", host.lost);
  row.set("retransmits", host.retransmits);
  if (host.compute_relative) row.set("compute_relative", *host.compute_relative);
  return row;
}

/// By number of the host: what its ranks say, each the same.
std::vector<std::string> of_hosts(const Topology& topology,
                                  const std::vector<std::string>& of_ranks) {
  std::vector<std::string> found(place_of(topology.nodes()));
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    found[place_of(topology.node_of_rank[rank])] = of_ranks[rank];
  }
  return found;
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

HostReport look_at_hosts(const Ranks& ranks, const HostLook& look) {
  HostReport report;
  Communicator& host = ranks.host;
  const Topology topology = host.topology();
  if (!look.options.look || topology.nodes() < 2) return report;
  report.hosts = of_hosts(topology, all_gather(host, ranks.session.host()));
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
  if (in_doubt(report.links, report.verdicts)) {
    compute = shorter_of(compute, probe_compute(host, machines, mark));
    report.links = merged(report.links, probe_links(host, 2 * kRoundTrips, mark));
    report.verdicts = judge_hosts(report.links, compute);
  }
  watchdog.end_cell();
  const std::vector<std::string> notes =
      notes_of_pairs(report.links, report.verdicts, report.hosts);
  for (const HostVerdict& one : report.verdicts) {
    report.rows.push_back(host_row(report, look.recorder, one));
  }
  for (std::size_t i = 0; i < notes.size(); ++i) {
    report.rows.push_back(link_row(report, look.recorder, report.links[i], notes[i]));
  }
  for (const ResultRow& row : report.rows) look.recorder.write(row);
  look.recorder.name_suspects(report.rows);
  for (const ResultRow& row : named_hosts(report.rows)) {
    look.console.warn(row.get("host") + ", " + row.get("note"));
  }
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
  const std::string line = suspect_line({}, report.rows);
  if (line.empty()) return code;
  if (format == "json") console.result(suspects_json(report.rows).dump() + "\n");
  if (format == "csv" || format == "json") {
    console.last_word(line);
  } else {
    console.result(line + "\n");
  }
  const bool named = !named_hosts(report.rows).empty();
  return named && options.fail_on_host && code == ExitCode::ok ? ExitCode::regression : code;
}

}  // namespace scalebench
