// SPDX-License-Identifier: Apache-2.0
// How the links between hosts and their processors are, by one rank of each host. Links: each sends
// to one of each other host, in a round-robin tournament, so that every host talks to one other at
// a time; first short round trips, which tell whether messages get lost, then long messages, which
// tell the rate. Processors: the same arithmetic everywhere; hosts that are one machine take turns.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "collectives/communicator.hpp"

namespace scalebench {

/// The place of that host, or rank, in a vector.
inline std::size_t index_of(int number) { return static_cast<std::size_t>(number); }

/// One direction between two hosts, numbered as the nodes of a Topology.
struct Link {
  int from = 0;
  int to = 0;
  std::size_t bytes = 0;       // of the long message that was timed
  double seconds = 0;          // the fastest, until the receiver's answer is back
  double latency_seconds = 0;  // half of the fastest round trip of 8 bytes
  double tail_seconds = 0;     // the slowest round trip of 8 bytes
  int messages = 0;            // these round trips,
  int late = 0;                // and those that took as long as TCP waits before it sends again
  /// TCP segments that the two hosts sent again meanwhile. NaN: the kernel does not tell.
  double retransmits = std::numeric_limits<double>::quiet_NaN();

  double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
  /// Of the round trips, those that were late because something was sent again: a busy receiver
  /// answers late too, and other connections of a host lose segments too. Without a count, all
  /// late ones.
  int lost() const;
};

using Round = std::vector<std::pair<int, int>>;

/// Who meets whom: in each round a host is in one pair at most, and all rounds together have each
/// pair of `hosts` once.
std::vector<Round> tournament(int hosts);

/// Collective over a host communicator; the same on all ranks: each ordered pair of hosts once,
/// none on one host. Takes about 0.6 s a round, of which there are about as many as hosts; a link
/// that loses messages takes 0.2 s longer for each. `messages`: round trips of each pair. `mark` is
/// called on every rank for every pair, when this rank is done with it.
std::vector<Link> probe_links(Communicator& host, int messages, const std::function<void()>& mark);

/// Two probes of the same hosts as one: the faster time of each pair, since what disturbs only
/// slows down, and all that was late or lost.
std::vector<Link> merged(std::vector<Link> a, const std::vector<Link>& b);

/// How fast the processor of each host is for a rank: the same arithmetic on one rank of each. A
/// clock that was turned down, a limit of a control group, another program, or whatever stops the
/// rank for a while: all of that takes longer.
/// Collective over a host communicator; the same on all ranks: seconds of the same work, by host;
/// about 0.1 on a free core, of several turns the fastest. `machine_of_host`: hosts with equal
/// texts share their cores and take turns, several times each, so that what comes and goes meets
/// all of them; the others are at work at the same time. Ranks that are not at work sleep. `mark`
/// is called by each rank at work for every turn that has begun.
std::vector<double> probe_compute(Communicator& host,
                                  const std::vector<std::string>& machine_of_host,
                                  const std::function<void()>& mark);

}  // namespace scalebench
