// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/links.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <thread>

#include "bench/measure/clock_sync.hpp"
#include "bench/measure/statistics.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

using Word = std::int32_t;

constexpr std::size_t kPing = 2;  // in words, as all sizes here
constexpr std::size_t kFirst = (std::size_t{64} << 10U) / sizeof(Word);
constexpr std::size_t kLargest = (std::size_t{64} << 20U) / sizeof(Word);
constexpr double kMessageSeconds = 0.05;  // past a shaper's bucket and a late turn on a busy core
constexpr int kMessages = 2;              // more of the length that takes so long
constexpr int kPings = 10;

/// The first rank of each host.
std::vector<int> leaders_of(const Topology& topology) {
  std::vector<int> leaders(static_cast<std::size_t>(topology.nodes()), -1);
  for (int rank = 0; const int node : topology.node_of_rank) {
    int& leader = leaders[static_cast<std::size_t>(node)];
    if (leader < 0) leader = rank;
    ++rank;
  }
  return leaders;
}

/// Until a message of `from` is there. Ranks that have no part in a pair may share its cores.
void await(Communicator& host, int from) {
  while (!host.pending(from)) std::this_thread::sleep_for(std::chrono::microseconds(200));
}

/// One side of a pair. The sender decides sizes as it goes and tells the receiver.
class Side {
 public:
  Side(Communicator& host, int peer) : host_(host), peer_(peer) {}

  /// Fills in what was measured.
  void send(Link& link) {
    await(host_, peer_);
    take(ready_);
    link.latency_seconds = fastest(kPing, kPings) / 2;
    std::size_t words = kFirst;
    link.seconds = fastest(words, 1);  // opens the connection's window
    while (link.seconds < kMessageSeconds && words < kLargest) {
      words *= 4;
      link.seconds = fastest(words, 1);
    }
    link.seconds = std::min(link.seconds, fastest(words, kMessages));
    link.bytes = words * sizeof(Word);
    announce(0, 0);
  }

  void receive() {
    host_.exchange(span_of(std::span<Word>(ready_)), peer_, {}, peer_);
    await(host_, peer_);
    while (true) {
      std::array<Word, 2> next{};
      take(next);
      if (next[0] == 0) return;
      const Span message = buffer(static_cast<std::size_t>(next[0]));
      for (Word i = 0; i < next[1]; ++i) {
        host_.exchange({}, peer_, message, peer_);
        host_.exchange(message.part(0, kPing), peer_, {}, peer_);
      }
    }
  }

 private:
  double fastest(std::size_t words, Word times) {
    announce(static_cast<Word>(words), times);
    const Span message = buffer(words);
    double seconds = std::numeric_limits<double>::max();
    for (Word i = 0; i < times; ++i) {
      const double begin = local_seconds();
      host_.exchange(message, peer_, {}, peer_);
      host_.exchange({}, peer_, message.part(0, kPing), peer_);
      seconds = std::min(seconds, local_seconds() - begin);
    }
    return seconds;
  }

  template <std::size_t N>
  void take(std::array<Word, N>& words) {
    host_.exchange({}, peer_, span_of(std::span<Word>(words)), peer_);
  }

  void announce(Word words, Word times) {
    std::array<Word, 2> next{words, times};
    host_.exchange(span_of(std::span<Word>(next)), peer_, {}, peer_);
  }

  Span buffer(std::size_t words) {
    if (buffer_.size() < words) buffer_.resize(words);
    return span_of(std::span(buffer_).first(words));
  }

  Communicator& host_;
  const int peer_;
  std::array<Word, 1> ready_{};
  std::vector<Word> buffer_;
};

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

std::vector<Round> tournament(int hosts) {
  // Seats around a table: the last one stays, the others move on by one each round.
  const int seats = hosts + hosts % 2;
  std::vector<Round> rounds;
  for (int moved = 0; moved + 1 < seats; ++moved) {
    Round& round = rounds.emplace_back();
    const auto at = [&](int seat) {
      return seat == seats - 1 ? seat : (seat + moved) % (seats - 1);
    };
    for (int seat = 0; seat < seats / 2; ++seat) {
      const auto [low, high] = std::minmax({at(seat), at(seats - 1 - seat)});
      if (high < hosts) round.emplace_back(low, high);
    }
  }
  return rounds;
}

std::vector<Link> probe_links(Communicator& host) {
  const std::vector<int> leaders = leaders_of(host.topology());
  std::vector<Link> links;
  for (const Round& round : tournament(static_cast<int>(leaders.size()))) {
    for (const auto& [low, high] : round) {
      for (const auto& [from, to] : {std::pair(low, high), std::pair(high, low)}) {
        Link& link = links.emplace_back(Link{.from = from, .to = to});
        const int sender = leaders[static_cast<std::size_t>(from)];
        const int receiver = leaders[static_cast<std::size_t>(to)];
        if (host.rank() == sender) Side(host, receiver).send(link);
        if (host.rank() == receiver) Side(host, sender).receive();
      }
    }
  }
  for (Link& link : links) {
    std::array<double, 3> found{static_cast<double>(link.bytes), link.seconds,
                                link.latency_seconds};
    const int root = leaders[static_cast<std::size_t>(link.from)];
    if (host.rank() != root) await(host, root);
    broadcast(host, span_of(std::span<double>(found)), root);
    link.bytes = static_cast<std::size_t>(found[0]);
    link.seconds = found[1];
    link.latency_seconds = found[2];
  }
  return links;
}

std::vector<Link> faster_of(std::vector<Link> a, const std::vector<Link>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double latency = std::min(a[i].latency_seconds, b[i].latency_seconds);
    if (b[i].bytes_per_second() > a[i].bytes_per_second()) a[i] = b[i];
    a[i].latency_seconds = latency;
  }
  return a;
}

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
