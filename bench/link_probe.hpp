// SPDX-License-Identifier: Apache-2.0
// How fast the links between hosts are, from host to host: one rank of each host sends to one of
// each other host, in a round-robin tournament, so that every host talks to one other at a time. An
// allreduce waits for its slowest link and cannot say which one that is; this can.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

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

}  // namespace scalebench
