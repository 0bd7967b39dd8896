// SPDX-License-Identifier: Apache-2.0
// Which host has a slow link, from what was measured between pairs of hosts. A host's link is as
// fast as the fastest thing that was seen on it: a slow partner, or something that disturbed for a
// moment, says nothing about it. It is slow where that lies more than 20 % below the median of the
// other hosts, which takes three hosts at least: of two, either may be to blame.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/link_probe.hpp"

namespace scalebench {

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

}  // namespace scalebench
