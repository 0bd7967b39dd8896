// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/compute.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>

#include "bench/hosts/links.hpp"
#include "bench/measure/clock.hpp"
#include "collectives/control.hpp"

namespace scalebench {
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

/// What `root` has, on all ranks.
double told_by(Communicator& host, double value, int root) {
  if (host.rank() != root) await(host, teller_of(host, root));
  broadcast(host, span_of(std::span<double>(&value, 1)), root);
  return value;
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
  const auto here =
      static_cast<std::size_t>(topology.node_of_rank[static_cast<std::size_t>(host.rank())]);
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
