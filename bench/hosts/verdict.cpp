// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
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

bool is_slow(const std::optional<double>& relative) { return relative && *relative < kSlow; }

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

void judge_links(std::vector<HostVerdict>& hosts, const std::vector<Link>& links) {
  std::vector<double> sends(hosts.size()), receives(hosts.size());  // the fastest of each
  for (const Link& link : links) {
    const auto from = static_cast<std::size_t>(link.from), to = static_cast<std::size_t>(link.to);
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
  if (is_slow(host.send_relative)) {
    words.push_back(fmt::format("sends {:.0f} %", 100 * *host.send_relative));
  }
  if (is_slow(host.receive_relative)) {
    words.push_back(fmt::format("receives {:.0f} %", 100 * *host.receive_relative));
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

/// By link: its rate over the median of all, or NaN where one of its hosts is named, or where there
/// are too few hosts to tell.
std::vector<double> shares_of_free_pairs(const std::vector<Link>& links,
                                         std::span<const HostVerdict> hosts) {
  const auto is_free = [&](int host) {
    return hosts[static_cast<std::size_t>(host)].fault == Fault::none;
  };
  std::vector<double> rates;
  for (const Link& link : links) rates.push_back(link.bytes_per_second());
  const double median = median_of(rates);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const bool counts =
        hosts.size() >= kFewestOfLinks && is_free(links[i].from) && is_free(links[i].to);
    rates[i] = counts ? rates[i] / median : std::nan("");
  }
  return rates;
}

}  // namespace

std::string_view name_of(Fault fault) {
  constexpr std::array<std::string_view, 4> kNames{"none", "processor", "loss", "link"};
  return kNames.at(static_cast<std::size_t>(fault));
}

std::string HostVerdict::why() const {
  switch (fault) {
    case Fault::none:
      return "";
    case Fault::processor:
      return fmt::format(
          "its processor runs at {:.0f} % of the others' median (look at its clock, heat and other "
          "programs)",
          100 * compute_relative.value());
    case Fault::loss:
      return of_loss(*this);
    case Fault::link:
      return of_link(*this);
  }
  return "";
}

std::vector<HostVerdict> judge_hosts(const std::vector<Link>& links,
                                     const std::vector<double>& compute_seconds) {
  std::vector<HostVerdict> hosts(compute_seconds.size());
  if (hosts.size() < 2) return {};
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].host = static_cast<int>(i);
    hosts[i].compute_relative = median_of_others(compute_seconds, i) / compute_seconds[i];
    if (is_slow(hosts[i].compute_relative)) hosts[i].fault = Fault::processor;
  }
  judge_links(hosts, links);
  for (HostVerdict& host : hosts) {
    if (host.fault != Fault::none) continue;
    const bool slow = is_slow(host.send_relative) || is_slow(host.receive_relative);
    host.fault = loses_messages(links, host.host) ? Fault::loss : slow ? Fault::link : Fault::none;
  }
  return hosts;
}

bool in_doubt(const std::vector<Link>& links, std::span<const HostVerdict> hosts) {
  const auto is_suspect = [](const HostVerdict& one) {
    return one.fault != Fault::none || one.lost > 0;
  };
  return std::ranges::any_of(hosts, is_suspect) ||
         std::ranges::any_of(shares_of_free_pairs(links, hosts),
                             [](double share) { return share < kSlowPair; });
}

std::vector<std::string> notes_of_pairs(const std::vector<Link>& links,
                                        std::span<const HostVerdict> hosts,
                                        const std::vector<std::string>& names) {
  const auto of = [](int host) { return static_cast<std::size_t>(host); };
  const std::vector<double> shares = shares_of_free_pairs(links, hosts);
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    std::vector<std::string> words;
    if (shares[i] < kSlowPair) {
      words.push_back(fmt::format("{} sends to {} at {:.0f} % of the median of all pairs",
                                  names[of(link.from)], names[of(link.to)], 100 * shares[i]));
    }
    const bool named =
        hosts[of(link.from)].fault != Fault::none || hosts[of(link.to)].fault != Fault::none;
    const auto back = std::ranges::find_if(
        links, [&](const Link& other) { return other.from == link.to && other.to == link.from; });
    const int lost = link.lost() + (back == links.end() ? 0 : back->lost());
    const int messages = link.messages + (back == links.end() ? 0 : back->messages);
    if (!named && link.from < link.to && lost >= kFewestLost &&
        share(lost, messages) >= kLostShare) {
      words.push_back(fmt::format("messages between {} and {} are lost or late: {} of {}",
                                  names[of(link.from)], names[of(link.to)], lost, messages));
    }
    notes.push_back(fmt::format("{}", fmt::join(words, "; ")));
  }
  return notes;
}

}  // namespace scalebench
