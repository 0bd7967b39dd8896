// SPDX-License-Identifier: Apache-2.0
// The links between hosts as rows of links.csv and as lines of a table.
#pragma once

#include <string>
#include <vector>

#include "bench/link_verdict.hpp"
#include "bench/recorder.hpp"

namespace scalebench {

/// What a launch found out about the links between its hosts; empty on one host.
struct LinkReport {
  std::vector<std::string> hosts;  // names, by number
  std::vector<Link> links;
  std::vector<HostLink> verdict;

  std::vector<std::string> slow_hosts() const { return describe_slow_hosts(verdict, hosts); }
};

/// Collective. Measures all links, and again where a host looks slow: a moment's disturbance is not
/// its fault. `host_of_rank`: names, by rank.
LinkReport report_links(Communicator& host, const std::vector<std::string>& host_of_rank);

/// Each pair, then each host with `all` as the other side.
std::vector<ResultRow> link_rows(const LinkReport& report, const Recorder& recorder);

/// Lines of comment to stand above a table, the slow hosts last; "" on one host.
std::string link_table(const LinkReport& report);

}  // namespace scalebench
