// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/probes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <thread>

#include "bench/machine/host_load.hpp"
#include "bench/measure/clock.hpp"
#include "collectives/control.hpp"

namespace scalebench {
namespace {

using Word = std::int32_t;

constexpr std::size_t kPing = 2;  // in words, as all sizes here
constexpr std::size_t kFirst = (std::size_t{64} << 10U) / sizeof(Word);
constexpr std::size_t kLargest = (std::size_t{64} << 20U) / sizeof(Word);
constexpr std::size_t kGrowth = 2;
constexpr double kMessageSeconds = 0.05;  // past a shaper's bucket and a late turn on a busy core
constexpr double kPatienceSeconds = 1;    // longer messages are not sent again
constexpr Word kMore = 2;                 // messages of the length that takes so long
// Linux waits 0.2 s before it sends again what nobody has acknowledged, if nothing follows it.
constexpr double kLateSeconds = 0.1;

/// The first rank of each host.
std::vector<int> leaders_of(const Topology& topology) {
  std::vector<int> leaders(index_of(topology.nodes()), -1);
  for (int rank = 0; const int node : topology.node_of_rank) {
    int& leader = leaders[index_of(node)];
    if (leader < 0) leader = rank;
    ++rank;
  }
  return leaders;
}

/// Returns when a message of `from` waits, asleep in between: ranks that have no part in a
/// measurement may share the cores of those that do.
void await(Communicator& host, int from) {
  while (!host.pending(from)) std::this_thread::sleep_for(std::chrono::microseconds(200));
}

/// What `root` has, on all ranks, which run the same binary.
template <class T>
T told_by(Communicator& host, const T& value, int root) {
  auto words = std::bit_cast<std::array<Word, sizeof(T) / sizeof(Word)>>(value);
  if (host.rank() != root) await(host, teller_of(host, root));
  broadcast(host, span_of(std::span<Word>(words)), root);
  return std::bit_cast<T>(words);
}

double resent_by_now() { return tcp_counters().retransmitted; }

/// One side of a pair. The sender decides sizes as it goes and tells the receiver.
class Side {
 public:
  Side(Communicator& host, int peer) : host_(host), peer_(peer) {}

  /// Fills in what was measured.
  void send(Link& link, int messages) {
    await(host_, peer_);
    take(ready_);
    const double before = resent_by_now();
    std::vector<double> trips = times(kPing, static_cast<Word>(messages));
    const double between = resent_by_now();
    std::ranges::sort(trips);
    link.latency_seconds = trips.front() / 2;
    link.tail_seconds = trips.back();
    link.messages = messages;
    link.late = static_cast<int>(
        std::ranges::count_if(trips, [](double seconds) { return seconds > kLateSeconds; }));

    std::size_t words = kFirst;
    times(words, 1);  // opens the connection's window
    std::vector<double> sent = once_or_twice(words);
    while (std::ranges::min(sent) < kMessageSeconds && words < kLargest) {
      words *= kGrowth;
      sent = once_or_twice(words);
    }
    if (std::ranges::min(sent) < kPatienceSeconds) {
      const std::vector<double> more = times(words, kMore);
      sent.insert(sent.end(), more.begin(), more.end());
    }
    link.seconds = std::ranges::min(sent);
    link.bytes = words * sizeof(Word);
    announce(0, 0);
    std::array<double, 1> of_peer{};
    host_.exchange({}, peer_, span_of(std::span<double>(of_peer)), peer_);
    link.retransmits = between - before + of_peer[0];
  }

  void receive() {
    host_.exchange(span_of(std::span<Word>(ready_)), peer_, {}, peer_);
    await(host_, peer_);
    const double before = resent_by_now();
    std::array<double, 1> resent{};
    for (bool short_ones = true; true;) {
      std::array<Word, 2> next{};
      take(next);
      const bool is_short = next[0] == static_cast<Word>(kPing);
      // The sender goes on once it has all answers, also those that had to be sent again.
      if (short_ones && !is_short) resent[0] = resent_by_now() - before;
      short_ones = is_short;
      if (next[0] == 0) break;
      const Span message = buffer(static_cast<std::size_t>(next[0]));
      for (Word i = 0; i < next[1]; ++i) {
        host_.exchange({}, peer_, message, peer_);
        host_.exchange(message.part(0, kPing), peer_, {}, peer_);
      }
    }
    host_.exchange(span_of(std::span<double>(resent)), peer_, {}, peer_);
  }

 private:
  /// Of each message, until its answer is back.
  std::vector<double> times(std::size_t words, Word count) {
    announce(static_cast<Word>(words), count);
    const Span message = buffer(words);
    std::vector<double> seconds;
    for (Word i = 0; i < count; ++i) {
      const double begin = local_seconds();
      host_.exchange(message, peer_, {}, peer_);
      host_.exchange({}, peer_, message.part(0, kPing), peer_);
      seconds.push_back(local_seconds() - begin);
    }
    return seconds;
  }

  /// Of one message, and of a second where that was long enough: it may have met a rank that was
  /// stopped for a moment.
  std::vector<double> once_or_twice(std::size_t words) {
    std::vector<double> seconds = times(words, 1);
    if (seconds.front() >= kMessageSeconds) seconds.push_back(times(words, 1).front());
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

}  // namespace

int Link::lost() const {
  return std::isnan(retransmits) ? late : std::min(late, static_cast<int>(retransmits));
}

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

std::vector<Link> probe_links(Communicator& host, int messages, const std::function<void()>& mark) {
  const std::vector<int> leaders = leaders_of(host.topology());
  std::vector<Link> links;
  for (const Round& round : tournament(static_cast<int>(leaders.size()))) {
    for (const auto& [low, high] : round) {
      for (const auto& [from, to] : {std::pair(low, high), std::pair(high, low)}) {
        Link& link = links.emplace_back(Link{.from = from, .to = to});
        const int sender = leaders[index_of(from)];
        const int receiver = leaders[index_of(to)];
        if (host.rank() == sender) Side(host, receiver).send(link, messages);
        if (host.rank() == receiver) Side(host, sender).receive();
        mark();
      }
    }
  }
  for (Link& link : links) {
    link = told_by(host, link, leaders[index_of(link.from)]);
  }
  return links;
}

std::vector<Link> merged(std::vector<Link> a, const std::vector<Link>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    Link both = b[i].bytes_per_second() > a[i].bytes_per_second() ? b[i] : a[i];
    both.latency_seconds = std::min(a[i].latency_seconds, b[i].latency_seconds);
    both.tail_seconds = std::max(a[i].tail_seconds, b[i].tail_seconds);
    both.messages = a[i].messages + b[i].messages;
    both.late = a[i].late + b[i].late;
    both.retransmits = a[i].retransmits + b[i].retransmits;
    a[i] = both;
  }
  return a;
}

// Processors.

namespace {

constexpr int kCycles = 4;
constexpr double kTurnSeconds = 0.1;  // of work, in each cycle
constexpr double kRounds = 1e5;       // of the arithmetic, first guess

/// Needs no memory but registers, and each round the result of the one before.
std::uint64_t work(std::uint64_t rounds, std::uint64_t seed) {
  std::uint64_t x = seed | 1U;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    x ^= x << 13U;
    x ^= x >> 7U;
    x ^= x << 17U;
    x *= 0x9e3779b97f4a7c15U;
  }
  return x;
}

/// Somebody must want the result, or there is no work.
void work_off(double rounds) {
  static volatile std::uint64_t sink = 1;
  sink = work(static_cast<std::uint64_t>(rounds), sink);
}

/// How many rounds this rank's processor does in a turn. By its own time: a rank that is stopped
/// meanwhile finds the same number.
double rounds_of_a_turn() {
  double rounds = kRounds;
  while (true) {
    const double begin = thread_seconds();
    work_off(rounds);
    const double seconds = thread_seconds() - begin;
    if (seconds > kTurnSeconds / 10) return rounds * kTurnSeconds / seconds;
    rounds *= 2;
  }
}

/// How long this thread had work to do, and no core: other threads had them.
double queued_seconds() {
  double ran = 0, queued = 0;
  std::ifstream file("/proc/thread-self/schedstat");
  return file >> ran >> queued ? 1e-9 * queued : 0.0;  // where it is not told, none of it is known
}

/// Where hosts share their cores, who waits longest for one is chance, and does not count.
double seconds_of_turn(double rounds, bool shares_cores) {
  const double begin = local_seconds(), queued = queued_seconds();
  work_off(rounds);
  const double waited = queued_seconds() - queued, seconds = local_seconds() - begin;
  return shares_cores ? seconds - waited : seconds;
}

/// The fastest turn of one rank among hosts that share cores: what comes and goes only slows down.
double take_turns(Communicator& host, std::vector<int> ranks, double rounds,
                  const std::function<void()>& mark) {
  double fastest = std::numeric_limits<double>::infinity();
  std::array<double, 1> word{};
  const Span go_on = span_of(std::span<double>(word));
  int before = -1;
  for (int cycle = 0; cycle < kCycles; ++cycle) {
    for (const int rank : ranks) {
      const bool is_passed_on = before >= 0 && before != rank;
      if (is_passed_on && before == host.rank()) host.exchange(go_on, rank, {}, rank);
      if (rank == host.rank()) {
        if (is_passed_on) {
          await(host, before);
          host.exchange({}, before, go_on, before);
        }
        fastest = std::min(fastest, seconds_of_turn(rounds, ranks.size() > 1));
      }
      before = rank;
      mark();
    }
    std::ranges::reverse(ranks);  // so that nobody always follows the same one
  }
  return fastest;
}

}  // namespace

std::vector<double> probe_compute(Communicator& host,
                                  const std::vector<std::string>& machine_of_host,
                                  const std::function<void()>& mark) {
  const Topology topology = host.topology();
  const std::vector<int> leaders = leaders_of(topology);
  const std::size_t here = index_of(topology.node_of_rank[index_of(host.rank())]);
  const bool is_first = host.rank() == leaders.front();
  const double rounds = told_by(host, is_first ? rounds_of_a_turn() : 0.0, leaders.front());
  double mine = 0;
  if (leaders[here] == host.rank()) {
    std::vector<int> sharing;
    for (std::size_t node = 0; node < leaders.size(); ++node) {
      const std::string& machine = machine_of_host[node];
      // What is not known is nobody else's.
      const bool same = node == here || (!machine.empty() && machine == machine_of_host[here]);
      if (same) sharing.push_back(leaders[node]);
    }
    mine = take_turns(host, sharing, rounds, mark);
  }
  std::vector<double> seconds;
  for (const int leader : leaders) seconds.push_back(told_by(host, mine, leader));
  return seconds;
}

}  // namespace scalebench
