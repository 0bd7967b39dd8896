// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

constexpr double kSlow = 0.8;
constexpr int kFewestLost = 3;
constexpr double kLostShare = 0.01;
constexpr double kMoreOften = 3;
constexpr std::size_t kFewestOfLinks = 3;
constexpr double kSlowPair = 0.6;

bool is_named(const HostVerdict& host) { return !host.why.empty(); }

double share(int lost, int messages) {
  return messages == 0 ? 0.0 : static_cast<double>(lost) / messages;
}

bool touches(const Link& link, int host) { return link.from == host || link.to == host; }

/// `of` without the value at `place`.
double median_of_others(const std::vector<double>& of, std::size_t place) {
  std::vector<double> others = of;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(place));
  return median_of(others);
}

/// What the links say of each host.
void look_at_links(std::vector<HostVerdict>& hosts, const std::vector<Link>& links) {
  std::vector<double> sends(hosts.size()), receives(hosts.size());  // the fastest of each
  for (const Link& link : links) {
    const std::size_t from = index_of(link.from), to = index_of(link.to);
    sends[from] = std::max(sends[from], link.bytes_per_second());
    receives[to] = std::max(receives[to], link.bytes_per_second());
    for (const std::size_t end : {from, to}) {
      HostVerdict& one = hosts[end];
      one.messages += link.messages;
      one.lost += link.lost();
      one.retransmits += link.retransmits;
      one.tail_seconds = std::max(one.tail_seconds, link.tail_seconds);
    }
  }
  if (hosts.size() < kFewestOfLinks) return;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].send_relative = sends[i] / median_of_others(sends, i);
    hosts[i].receive_relative = receives[i] / median_of_others(receives, i);
  }
}

/// Whether messages of a host are lost to several others, and elsewhere none are, or much less
/// often.
bool loses_messages(const std::vector<Link>& links, int host) {
  int lost = 0, messages = 0, lost_elsewhere = 0, messages_elsewhere = 0;
  std::set<int> partners;
  for (const Link& link : links) {
    const bool own = touches(link, host);
    (own ? messages : messages_elsewhere) += link.messages;
    (own ? lost : lost_elsewhere) += link.lost();
    if (own && link.lost() > 0) partners.insert(link.from == host ? link.to : link.from);
  }
  return lost >= kFewestLost && share(lost, messages) >= kLostShare && partners.size() >= 2 &&
         share(lost, messages) >= kMoreOften * share(lost_elsewhere, messages_elsewhere);
}

std::string of_link(const HostVerdict& host) {
  std::vector<std::string> words;
  if (host.send_relative < kSlow) {
    words.push_back(fmt::format("sends {:.0f} %", 100 * host.send_relative));
  }
  if (host.receive_relative < kSlow) {
    words.push_back(fmt::format("receives {:.0f} %", 100 * host.receive_relative));
  }
  return fmt::format("its link {} of the others' median (look at cable, port, driver)",
                     fmt::join(words, " and "));
}

std::string of_loss(const HostVerdict& host) {
  const std::string again = std::isnan(host.retransmits)
                                ? "the system does not count what it sends again"
                                : fmt::format("{:.0f} segments were sent again", host.retransmits);
  return fmt::format(
      "messages to and from it are lost or late: {} of {}, the slowest came after {:.0f} ms, {} "
      "(look at cable, port, switch)",
      host.lost, host.messages, 1e3 * host.tail_seconds, again);
}

/// The first of the reasons that holds. `loses`: as loses_messages says.
void accuse(HostVerdict& host, bool loses) {
  if (host.compute_relative < kSlow) {
    host.verdict = "processor";
    host.why = fmt::format(
        "its processor runs at {:.0f} % of the others' median (look at its clock, heat and other "
        "programs)",
        100 * host.compute_relative);
  } else if (loses) {
    host.verdict = "loss";
    host.why = of_loss(host);
  } else if (host.send_relative < kSlow || host.receive_relative < kSlow) {
    host.verdict = "link";
    host.why = of_link(host);
  }
}

/// What is said of each link, none of whose hosts is named.
std::vector<std::string> notes_of_pairs(const std::vector<Link>& links,
                                        const std::vector<HostVerdict>& hosts,
                                        const std::vector<std::string>& names) {
  std::vector<double> rates;
  for (const Link& link : links) rates.push_back(link.bytes_per_second());
  const double median = median_of(rates);
  std::vector<std::string> notes(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    const std::size_t from = index_of(link.from), to = index_of(link.to);
    if (is_named(hosts[from]) || is_named(hosts[to])) continue;
    std::vector<std::string> words;
    if (hosts.size() >= kFewestOfLinks && rates[i] / median < kSlowPair) {
      words.push_back(fmt::format("{} sends to {} at {:.0f} % of the median of all pairs",
                                  names[from], names[to], 100 * rates[i] / median));
    }
    const Link& back = *std::ranges::find_if(
        links, [&](const Link& other) { return other.from == link.to && other.to == link.from; });
    const int lost = link.lost() + back.lost(), messages = link.messages + back.messages;
    if (from < to && lost >= kFewestLost && share(lost, messages) >= kLostShare) {
      words.push_back(fmt::format("messages between {} and {} are lost or late: {} of {}",
                                  names[from], names[to], lost, messages));
    }
    notes[i] = fmt::format("{}", fmt::join(words, "; "));
  }
  return notes;
}

}  // namespace

Verdicts judge_hosts(const std::vector<Link>& links, const std::vector<double>& compute_seconds,
                     const std::vector<std::string>& names) {
  std::vector<HostVerdict> hosts(compute_seconds.size());
  if (hosts.size() < 2) return {};
  look_at_links(hosts, links);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].compute_relative = median_of_others(compute_seconds, i) / compute_seconds[i];
    accuse(hosts[i], loses_messages(links, static_cast<int>(i)));
  }
  Verdicts found{hosts, notes_of_pairs(links, hosts, names)};
  const auto is_odd = [](const HostVerdict& one) { return is_named(one) || one.lost > 0; };
  found.in_doubt =
      std::ranges::any_of(hosts, is_odd) ||
      std::ranges::any_of(found.of_links, [](const auto& note) { return !note.empty(); });
  return found;
}

}  // namespace scalebench
