// SPDX-License-Identifier: Apache-2.0
#include "bench/hosts/probes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <mutex>
#include <set>
#include <thread>

#include "collectives/forwarding.hpp"
#include "collectives/transport/thread_ranks_test.hpp"

namespace scalebench {
namespace {

using testing::Each;
using testing::Gt;
using testing::SizeIs;

TEST(Tournament, EveryPairMeetsOnceAndNobodyIsInTwoPairsAtATime) {
  for (int hosts = 1; hosts <= 17; ++hosts) {
    std::set<std::pair<int, int>> pairs;
    const std::vector<Round> rounds = tournament(hosts);
    EXPECT_LE(static_cast<int>(rounds.size()), hosts);
    for (const Round& round : rounds) {
      std::set<int> busy;
      for (const auto& [low, high] : round) {
        EXPECT_LT(low, high);
        EXPECT_LT(high, hosts);
        EXPECT_TRUE(busy.insert(low).second && busy.insert(high).second) << hosts;
        EXPECT_TRUE(pairs.emplace(low, high).second) << hosts;
      }
    }
    EXPECT_EQ(static_cast<int>(pairs.size()), hosts * (hosts - 1) / 2);
  }
}

TEST(Links, EveryRankKnowsEveryPairOfHosts) {
  constexpr int kHosts = 3, kRanks = 6, kTrips = 5;
  std::vector<std::vector<Link>> found;
  std::mutex mutex;
  run_ranks(
      kRanks,
      [&](Communicator& host) {
        int marks = 0;
        const std::vector<Link> links = probe_links(host, kTrips, [&] { ++marks; });
        const std::scoped_lock lock(mutex);
        EXPECT_EQ(marks, kHosts * (kHosts - 1));
        found.push_back(links);
      },
      SendMode::buffered, kRanks / kHosts);
  ASSERT_THAT(found, SizeIs(kRanks));
  for (const std::vector<Link>& links : found) {
    ASSERT_THAT(links, SizeIs(kHosts * (kHosts - 1)));
    for (std::size_t i = 0; i < links.size(); ++i) {
      EXPECT_EQ(links[i].seconds, found[0][i].seconds);
      EXPECT_GT(links[i].bytes, 0U);
      EXPECT_GE(links[i].tail_seconds, links[i].latency_seconds);
      EXPECT_EQ(links[i].messages, kTrips);
    }
  }
}

/// Long messages take 1 ms a megabyte, and the one of that number 60 ms more.
class StoppedOnce final : public ForwardingCommunicator {
 public:
  StoppedOnce(Communicator& inner, int stopped)
      : ForwardingCommunicator(inner), stopped_(stopped) {}

  void exchange(ConstSpan out, int to, Span in, int from) override {
    if (out.bytes() > 1000) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(out.bytes()));
      if (++long_ == stopped_) std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
    inner_.exchange(out, to, in, from);
  }

 private:
  const int stopped_;
  int long_ = 0;
};

TEST(Links, OneStoppedMessageIsNotTakenForALongOne) {
  for (const int stopped : {2, 3}) {  // the first one opens the connection's window
    std::size_t bytes = 0;
    // On a busy machine both messages of a length may be stopped by others.
    for (int attempt = 0; attempt < 100 && bytes < 30'000'000; ++attempt) {
      run_ranks(
          2,
          [&](Communicator& ranks) {
            StoppedOnce host(ranks, stopped);
            const Link link = probe_links(host, 1, [] {}).front();
            if (host.rank() == 0) bytes = link.bytes;
          },
          SendMode::buffered, 1);
    }
    EXPECT_GE(bytes, 30'000'000U) << "stopped at message " << stopped;
  }
}

Link link_of(double seconds, double latency) {
  return {.from = 0,
          .to = 1,
          .bytes = 1'000'000,
          .seconds = seconds,
          .latency_seconds = latency,
          .tail_seconds = 10 * latency,
          .messages = 40,
          .late = 3,
          .retransmits = 2};
}

TEST(Links, OfTwoProbesTheFasterTimesCountAndAllThatWasLost) {
  const Link both = merged({link_of(3e-3, 1e-5)}, {link_of(1e-3, 2e-5)}).front();
  EXPECT_DOUBLE_EQ(both.seconds, 1e-3);
  EXPECT_DOUBLE_EQ(both.latency_seconds, 1e-5);
  EXPECT_DOUBLE_EQ(both.tail_seconds, 2e-4);
  EXPECT_EQ(both.messages, 80);
  EXPECT_EQ(both.late, 6);
  EXPECT_DOUBLE_EQ(both.retransmits, 4);
}

TEST(Links, LostIsWhatWasLateBecauseItWasSentAgain) {
  Link link = link_of(1, 1);
  EXPECT_EQ(link.lost(), 2);
  link.retransmits = 100;  // of other connections of these hosts
  EXPECT_EQ(link.lost(), 3);
  link.retransmits = std::nan("");
  EXPECT_EQ(link.lost(), 3);
}

/// What each rank came to know.
std::vector<std::vector<double>> probed(int ranks, int per_host,
                                        const std::vector<std::string>& of) {
  std::vector<std::vector<double>> found;
  std::mutex mutex;
  run_ranks(
      ranks,
      [&](Communicator& host) {
        const std::vector<double> mine = probe_compute(host, of, [] {});
        const std::scoped_lock lock(mutex);
        found.push_back(mine);
      },
      SendMode::buffered, per_host);
  return found;
}

TEST(Compute, EveryRankKnowsTheTimeOfEveryHostInTurnsAndAtOnce) {
  for (const auto& machines : {std::vector<std::string>{"a", "a", "b"}, {"", "", ""}}) {
    const auto found = probed(6, 2, machines);
    EXPECT_THAT(found, SizeIs(6));
    EXPECT_THAT(found, Each(found.front()));
    EXPECT_THAT(found.front(), SizeIs(3));
    EXPECT_THAT(found.front(), Each(Gt(0)));
  }
}

}  // namespace
}  // namespace scalebench
