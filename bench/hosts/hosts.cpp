// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/hosts.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "bench/cli/help.hpp"
#include "bench/hosts/probes.hpp"
#include "bench/hosts/verdict.hpp"
#include "bench/machine/identity.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/suspects.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

constexpr int kRoundTrips = 40;  // round trips of each pair: of 2 % lost, both ways, nearly two
constexpr double kHostSeconds = 0.15;  // the watchdog waits a hundred times as long for each host

/// One launch's row of a host, or with `to` of its link to that one; `note` is what speaks against
/// it.
ResultRow row_of(const Recorder& recorder, const std::string& host, const std::string& to,
                 const std::string& note) {
  ResultRow row = recorder.side_row(hosts_schema(), fmt::format("host name={} to={}", host, to));
  row.set("status", "ok").set("note", note).set("host", host).set("to_host", to);
  return row.set("launches", 1).set("accused", note.empty() ? 0 : 1);
}

/// A row for each host, and behind these one for each link.
std::vector<ResultRow> rows_of(const Recorder& recorder, const std::vector<std::string>& names,
                               const std::vector<Link>& links, const Verdicts& verdicts) {
  std::vector<ResultRow> rows;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const HostVerdict& host = verdicts.hosts[i];
    ResultRow& row = rows.emplace_back(row_of(recorder, names[i], "", host.why));
    row.set("verdict", host.verdict).set("tail_seconds", host.tail_seconds);
    row.set("messages", host.messages).set("lost", host.lost);
    row.set("retransmits", host.retransmits).set("compute_relative", host.compute_relative);
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    ResultRow& row = rows.emplace_back(row_of(recorder, names[index_of(link.from)],
                                              names[index_of(link.to)], verdicts.of_links[i]));
    row.set("gb_per_s", link.bytes_per_second() / 1e9);
    row.set("latency_seconds", link.latency_seconds).set("tail_seconds", link.tail_seconds);
    row.set("messages", link.messages).set("lost", link.lost());
    row.set("retransmits", link.retransmits);
  }
  for (ResultRow& row : rows) row.set("nodes", names.size());
  return rows;
}

/// By number of the host: what its ranks say, each the same.
std::vector<std::string> of_hosts(const Topology& topology,
                                  const std::vector<std::string>& of_ranks) {
  std::vector<std::string> found(index_of(topology.nodes()));
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    found[index_of(topology.node_of_rank[rank])] = of_ranks[rank];
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

std::vector<ResultRow> look_at_hosts(const Ranks& ranks, const HostOptions& options,
                                     Recorder& recorder, Console& console) {
  Communicator& host = ranks.host;
  const Topology topology = host.topology();
  if (!options.look || topology.nodes() < 2) return {};
  const std::vector<std::string> names = of_hosts(topology, all_gather(host, ranks.session.host()));
  // Hosts that are one machine have equal texts, which may be empty.
  const std::vector<std::string> machines = of_hosts(topology, all_gather(host, boot_id()));
  const std::string what = fmt::format("links and processors of {} hosts", topology.nodes());
  console.note("looking at " + what);
  ProgressMarks& progress = ranks.progress;
  progress.cell(what);
  progress.expect(kHostSeconds * topology.nodes());
  const auto mark = [&] {
    progress.enter();
    progress.leave();
  };
  std::vector<double> compute = probe_compute(host, machines, mark);
  std::vector<Link> links = probe_links(host, kRoundTrips, mark);
  Verdicts verdicts = judge_hosts(links, compute, names);
  if (verdicts.in_doubt) {
    compute = shorter_of(compute, probe_compute(host, machines, mark));
    links = merged(links, probe_links(host, 2 * kRoundTrips, mark));
    verdicts = judge_hosts(links, compute, names);
  }
  progress.end_cell();
  std::vector<ResultRow> rows = rows_of(recorder, names, links, verdicts);
  for (const ResultRow& row : rows) recorder.write(row);
  recorder.name_suspects(rows);
  for (const ResultRow& row : named_hosts(rows)) {
    console.warn(row.get("host") + ", " + row.get("note"));
  }
  return rows;
}

ExitCode conclude(const std::vector<ResultRow>& hosts, const HostOptions& options,
                  std::string_view format, Console& console, ExitCode code) {
  const std::string line = suspect_line({}, hosts);
  if (line.empty()) return code;
  if (format == "json") console.result(suspects_json(hosts).dump() + "\n");
  if (format == "csv" || format == "json") {
    console.last_word(line);
  } else {
    console.result(line + "\n");
  }
  const bool named = !named_hosts(hosts).empty();
  return named && options.fail_on_host && code == ExitCode::ok ? ExitCode::regression : code;
}

}  // namespace scalebench
