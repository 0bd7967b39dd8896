// SPDX-License-Identifier: Apache-2.0
// Which host is at fault, and what it is, from what was measured of links and processors: numbers
// in, a verdict for each host out. What explains the most comes first: a rank that is stopped half
// of the time sends slowly, too, and a link that loses messages is slow, but not the other way.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "bench/hosts/probes.hpp"

namespace scalebench {

/// One host. What stands against other hosts is NaN where there are too few: two for a processor,
/// three for a link, since of two hosts either may be to blame for what is between them.
struct HostVerdict {
  std::string verdict = "none";  // as in hosts.csv; else processor, loss or link
  /// "its link sends 12 % of the others' median (look at cable, port, driver)"; empty: no fault.
  std::string why;
  // A host's link is as fast as the fastest message that was seen on it: a slow partner, or
  // something that disturbed for a moment, says nothing about it. Its rate over the median of the
  // others', to and from some other host:
  double send_relative = std::numeric_limits<double>::quiet_NaN();
  double receive_relative = send_relative;
  double compute_relative = send_relative;  // the others' median over this one's seconds
  // Of the round trips with all other hosts:
  int messages = 0;
  int lost = 0;
  double tail_seconds = 0;
  double retransmits = 0;  // NaN: not known
};

struct Verdicts {
  std::vector<HostVerdict> hosts;  // by number
  /// By link, what lies between its two hosts and makes neither a suspect: "messages between host1
  /// and host2 are lost or late: 5 of 80", with the first of its two directions, "host4 sends to
  /// host3 at 48 % of the median of all pairs". Empty: nothing.
  std::vector<std::string> of_links;
  /// A second look is worth its time: a moment's disturbance is nobody's fault, and where too
  /// little was lost to name a host, more may be.
  bool in_doubt = false;
};

/// A host is named where its processor or its link lies more than 20 % below the median of the
/// others, or where at least three messages and one in a hundred were lost, with two other hosts or
/// more, three times as often as where it is not involved. Empty for one host.
/// `links` has each ordered pair of hosts once; `compute_seconds` and `names` by host.
Verdicts judge_hosts(const std::vector<Link>& links, const std::vector<double>& compute_seconds,
                     const std::vector<std::string>& names);

}  // namespace scalebench
