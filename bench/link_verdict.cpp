// SPDX-License-Identifier: Apache-2.0
#include "bench/link_verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

/// The fastest link of each host in one direction, by host.
std::map<int, Link> fastest_links(const std::vector<Link>& links, bool sends) {
  std::map<int, Link> fastest;
  for (const Link& link : links) {
    const auto [known, first] = fastest.emplace(sends ? link.from : link.to, link);
    if (!first && link.bytes_per_second() > known->second.bytes_per_second()) known->second = link;
  }
  return fastest;
}

}  // namespace

std::vector<HostLink> judge_links(const std::vector<Link>& links) {
  std::vector<HostLink> hosts;
  for (const bool sends : {true, false}) {
    const std::map<int, Link> fastest = fastest_links(links, sends);
    for (const auto& [host, link] : fastest) {
      HostLink& judged = hosts.emplace_back(HostLink{host, sends, link, std::nullopt});
      if (fastest.size() < 3) continue;
      std::vector<double> others;
      for (const auto& [other, its] : fastest) {
        if (other != host) others.push_back(its.bytes_per_second());
      }
      judged.relative = link.bytes_per_second() / median_of(others);
    }
  }
  std::ranges::stable_sort(hosts, {}, &HostLink::host);
  return hosts;
}

std::vector<std::string> describe_slow_hosts(const std::vector<HostLink>& hosts,
                                             const std::vector<std::string>& names) {
  std::map<int, std::vector<std::string>> of_host;
  for (const HostLink& link : hosts) {
    if (!link.slow()) continue;
    of_host[link.host].push_back(fmt::format(
        "{} {:.3g} GB/s, {:.0f} % of what the other hosts do", link.sends ? "sends" : "receives",
        link.fastest.bytes_per_second() / 1e9, 100 * *link.relative));
  }
  std::vector<std::string> lines;
  for (const auto& [host, words] : of_host) {
    lines.push_back(fmt::format("the link of {} is slow: it {}",
                                names[static_cast<std::size_t>(host)], fmt::join(words, ", and ")));
  }
  return lines;
}

}  // namespace scalebench
