// SPDX-License-Identifier: Apache-2.0
// How fast the links between hosts are, from host to host: one rank of each host sends to one of
// each other host, in a round-robin tournament, so that every host talks to one other at a time. An
// allreduce waits for its slowest link and cannot say which one that is; this can.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/program/recorder.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

/// One direction between two hosts, numbered as the nodes of a Topology.
struct Link {
  int from = 0;
  int to = 0;
  std::size_t bytes = 0;       // of the message that was timed
  double seconds = 0;          // the fastest, until the receiver's answer is back
  double latency_seconds = 0;  // half of the fastest round trip of 8 bytes

  double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
};

using Round = std::vector<std::pair<int, int>>;

/// Who meets whom: in each round a host is in one pair at most, and all rounds together have each
/// pair of `hosts` once.
std::vector<Round> tournament(int hosts);

/// Collective over a host communicator; the same on all ranks: each ordered pair of hosts once,
/// none on one host. Takes about 0.5 s a round, of which there are about as many as hosts.
std::vector<Link> probe_links(Communicator& host);

/// Of two probes of the same hosts the faster of each pair: what disturbs only slows down.
std::vector<Link> faster_of(std::vector<Link> a, const std::vector<Link>& b);

// Which host has a slow link, from what was measured between pairs of hosts. A host's link is as
// fast as the fastest thing that was seen on it: a slow partner, or something that disturbed for a
// moment, says nothing about it. It is slow where that lies more than 20 % below the median of the
// other hosts, which takes three hosts at least: of two, either may be to blame.

/// One host in one direction.
struct HostLink {
  int host = 0;
  bool sends = true;
  Link fastest;                    // to or from some other host
  std::optional<double> relative;  // its rate against the median of the others'; empty: two hosts
  bool slow() const { return relative && *relative < 0.8; }
};

/// For each host what it sends, then what it receives. `links` has each ordered pair once.
std::vector<HostLink> judge_links(const std::vector<Link>& links);

/// One line for each host that is slow in some direction: "host3 is slow: it sends 0.012 GB/s, 10 %
/// of what the other hosts do, and receives ...". `names` by number.
std::vector<std::string> describe_slow_hosts(const std::vector<HostLink>& hosts,
                                             const std::vector<std::string>& names);

// The links between hosts as rows of links.csv and as lines of a table.

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
