// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/compute.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <utility>

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

Look look() {
  const auto [queued, at] = with_its_time(1e-3, queued_seconds);
  return {at, queued};
}

/// All turns of one rank among hosts that share cores. A rank that is stopped when its turn comes
/// takes that long to begin: the word to go on is the time at which it was given, by the one clock
/// that hosts of one machine have. What the word itself took does not count, and not either what a
/// rank waited for a core: the cores are everybody's, and who waits longest for them is chance.
double take_turns(Communicator& host, std::vector<int> ranks, double rounds,
                  const std::function<void()>& mark) {
  std::array<double, 1> given{};
  const Span word = span_of(std::span<double>(given));
  double seconds = 0;
  int before = -1;
  const auto pass_on = [&](int to) {
    given[0] = local_seconds();
    host.exchange(word, to, {}, to);
  };
  for (int cycle = 0; cycle < kCycles; ++cycle) {
    for (const int rank : ranks) {
      if (before == host.rank() && rank != before) pass_on(rank);
      if (rank == host.rank()) {
        Look begin = look(), last = begin;
        given[0] = begin.at;
        if (before >= 0 && before != rank) {
          await(host, before, [&] { begin = std::exchange(last, look()); });
          host.exchange({}, before, word, before);
        }
        const double before_work = thread_seconds();
        work_off(rounds);
        const double worked = thread_seconds() - before_work;
        Look end = look();
        if (ranks.size() == 1) end.queued = begin.queued;  // the cores are its own: all counts
        seconds += seconds_of_work(begin, given[0], end, worked);
      }
      before = rank;
      mark();
    }
    std::ranges::reverse(ranks);  // so that nobody always follows the same one
  }
  return seconds;
}

}  // namespace

double seconds_of_work(const Look& begin, double given, const Look& end, double worked) {
  const double before = std::max(0.0, given - begin.at);
  const double queued = std::max(0.0, end.queued - begin.queued - before);
  return std::max(worked, end.at - begin.at - before - queued);
}

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
