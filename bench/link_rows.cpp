// SPDX-License-Identifier: Apache-2.0
#include "bench/link_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace scalebench {
namespace {

constexpr std::string_view kAll = "all";

std::vector<std::string> names_of(const Topology& topology,
                                  const std::vector<std::string>& host_of_rank) {
  std::vector<std::string> names(static_cast<std::size_t>(topology.nodes()));
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank) {
    names[static_cast<std::size_t>(topology.node_of_rank[rank])] = host_of_rank[rank];
  }
  return names;
}

ResultRow row_of(const LinkReport& report, const Recorder& recorder, const Link& link,
                 std::string_view from, std::string_view to) {
  ResultRow row = recorder.side_row(links_schema(), fmt::format("link from={} to={}", from, to));
  row.set("status", "ok").set("nodes", report.hosts.size()).set("from_host", from);
  row.set("to_host", to).set("message_bytes", link.bytes);
  row.set("gb_per_s", link.bytes_per_second() / 1e9);
  return row.set("latency_seconds", link.latency_seconds);
}

}  // namespace

LinkReport report_links(Communicator& host, const std::vector<std::string>& host_of_rank) {
  LinkReport report;
  report.hosts = names_of(host.topology(), host_of_rank);
  report.links = probe_links(host);
  report.verdict = judge_links(report.links);
  if (std::ranges::any_of(report.verdict, &HostLink::slow)) {
    report.links = faster_of(report.links, probe_links(host));
    report.verdict = judge_links(report.links);
  }
  return report;
}

std::vector<ResultRow> link_rows(const LinkReport& report, const Recorder& recorder) {
  const auto name = [&](int host) -> std::string_view {
    return report.hosts[static_cast<std::size_t>(host)];
  };
  std::vector<ResultRow> rows;
  for (const Link& link : report.links) {
    rows.push_back(row_of(report, recorder, link, name(link.from), name(link.to)));
  }
  for (const HostLink& one : report.verdict) {
    ResultRow row = row_of(report, recorder, one.fastest, one.sends ? name(one.host) : kAll,
                           one.sends ? kAll : name(one.host));
    if (one.relative) row.set("relative", *one.relative).set("slow", one.slow() ? 1 : 0);
    rows.push_back(row);
  }
  return rows;
}

std::string link_table(const LinkReport& report) {
  if (report.links.empty()) return "";
  std::string text = fmt::format(
      "# links between hosts: fastest message to and from any other\n"
      "#{:>11} {:>12} {:>13}  host\n",
      "out (GB/s)", "in (GB/s)", "latency (us)");
  for (std::size_t i = 0; i + 1 < report.verdict.size(); i += 2) {
    const HostLink& out = report.verdict[i];
    const HostLink& in = report.verdict[i + 1];
    text +=
        fmt::format("#{:>11.4g} {:>12.4g} {:>13.1f}  {}\n", out.fastest.bytes_per_second() / 1e9,
                    in.fastest.bytes_per_second() / 1e9, out.fastest.latency_seconds * 1e6,
                    report.hosts[static_cast<std::size_t>(out.host)]);
  }
  for (const std::string& line : report.slow_hosts()) text += fmt::format("# {}\n", line);
  return text;
}

}  // namespace scalebench
