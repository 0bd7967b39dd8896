// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/pairs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/record/columns.hpp"
#include "kernels/error.hpp"

namespace scalebench::pairs_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

Topology hosts_of(std::vector<int> node_of_rank) { return {std::move(node_of_rank)}; }

/// Each rank is in one group of each round, and the two views agree.
void expect_whole(const PairRound& round, std::size_t ranks) {
  ASSERT_EQ(round.group_of_rank.size(), ranks);
  std::set<int> seen;
  for (std::size_t group = 0; group < round.members.size(); ++group) {
    for (const int rank : round.members[group]) {
      EXPECT_EQ(round.group_of_rank[static_cast<std::size_t>(rank)], static_cast<int>(group));
      seen.insert(rank);
    }
  }
  EXPECT_EQ(seen.size(), ranks);
}

TEST(PairRounds, EveryPairOfRanksMeetsOnce) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const std::vector<int> one_host(static_cast<std::size_t>(ranks), 0);
    const auto rounds = pair_rounds(PairsOf::ranks, hosts_of(one_host));
    EXPECT_EQ(rounds.size(), static_cast<std::size_t>(ranks - 1 + ranks % 2)) << "as few as can be";
    std::map<std::vector<int>, int> met;
    for (const PairRound& round : rounds) {
      expect_whole(round, one_host.size());
      for (const auto& members : round.members) {
        EXPECT_LE(members.size(), 2U);
        if (members.size() == 2) ++met[members];
      }
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(ranks * (ranks - 1) / 2));
    for (const auto& [pair, times] : met) EXPECT_EQ(times, 1);
  }
}

TEST(PairRounds, HostsMeetWithAllOfTheirRanks) {
  const auto rounds = pair_rounds(PairsOf::hosts, hosts_of({0, 0, 1, 1, 2}));
  ASSERT_EQ(rounds.size(), 3U);
  std::set<std::vector<int>> met;
  for (const PairRound& round : rounds) {
    expect_whole(round, 5);
    met.insert(round.members.begin(), round.members.end());
  }
  for (const std::vector<int>& pair :
       std::vector<std::vector<int>>{{0, 1, 2, 3}, {0, 1, 4}, {2, 3, 4}}) {
    EXPECT_TRUE(met.contains(pair)) << pair.back();
  }
}

TEST(PairRounds, OneIsNoPair) {
  EXPECT_THROW(pair_rounds(PairsOf::ranks, hosts_of({0})), UsageError);
  EXPECT_THROW(pair_rounds(PairsOf::hosts, hosts_of({0, 0})), UsageError);
}

TEST(PairTiming, IsThatOfTheMembers) {
  Timing all;
  all.repetitions.push_back({.seconds = 4,
                             .skew_seconds = 3,
                             .start = 0,
                             .end = 4,
                             .slowest_rank = 2,
                             .rank_seconds = {1, 3, 4, 2}});
  const Timing own = timing_of(all, std::vector<int>{0, 3});
  ASSERT_EQ(own.repetitions.size(), 1U);
  EXPECT_EQ(own.repetitions[0].seconds, 2);
  EXPECT_EQ(own.repetitions[0].skew_seconds, 1);
  EXPECT_EQ(own.repetitions[0].slowest_rank, 3);
  EXPECT_EQ(own.repetitions[0].rank_seconds, (std::vector<float>{1, 2}));
}

/// What is said of --pairs hosts with two ranks each, where the pairs of the last host take ten
/// times as long; with an odd number of hosts one of them sits out each round, and measures itself.
std::string said_of(int hosts) {
  constexpr std::size_t kBytes = std::size_t{4} << 20U;
  Topology topology;
  std::vector<std::string> names;
  for (int rank = 0; rank < 2 * hosts; ++rank) {
    topology.node_of_rank.push_back(rank / 2);
    names.push_back("host" + std::to_string(rank / 2));
  }
  PairTable table("one case", kBytes, PairsOf::hosts, topology, names);
  for (int a = 0; a < hosts; ++a) {
    for (int b = a + (hosts % 2 == 0 ? 1 : 0); b < hosts; ++b) {
      std::vector<int> members{2 * a, 2 * a + 1};
      if (b != a) members.insert(members.end(), {2 * b, 2 * b + 1});
      // No two are quite equal.
      const double usual = a == b ? 1e-4 : 1e-3 * (1 + 0.01 * ((3 * a + 5 * b) % 4));
      const double seconds = a != b && b == hosts - 1 ? 10 * usual : usual;
      table.add(members, seconds,
                busbw_gb_per_s(kBytes, seconds, static_cast<int>(members.size())));
    }
  }
  return table.text(table.outliers(1));
}

TEST(PairTable, AHostThatSitsOutIsNoPair) {
  EXPECT_THAT(said_of(5), HasSubstr("slow: host4, its pairs take 9.98 times"));
  EXPECT_THAT(said_of(3), HasSubstr("3 pair(s): too few to tell"));
}

TEST(PairTable, APairsRateIsThatOfItsRow) {
  // 4 MiB in 1.01 ms, and 2 (4 - 1) / 4 of that.
  EXPECT_THAT(said_of(4), ContainsRegex("host0 +- +6\\.229 "));
  EXPECT_THAT(said_of(18), ContainsRegex("host[0-9]+ +host17 +0\\.6"));
}

}  // namespace
}  // namespace scalebench::pairs_test
