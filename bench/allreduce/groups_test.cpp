// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/groups.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kernels/error.hpp"

namespace scalebench {
namespace {

Topology hosts_of(std::vector<int> node_of_rank) { return {std::move(node_of_rank)}; }

/// Each rank is in one group of each round, and the two views agree.
void expect_whole(const Grouping& grouping, std::size_t ranks) {
  ASSERT_EQ(grouping.group_of_rank.size(), ranks);
  std::set<int> seen;
  for (std::size_t group = 0; group < grouping.members.size(); ++group) {
    for (const int rank : grouping.members[group]) {
      EXPECT_EQ(grouping.group_of_rank[static_cast<std::size_t>(rank)], static_cast<int>(group));
      seen.insert(rank);
    }
  }
  EXPECT_EQ(seen.size(), ranks);
}

TEST(Groups, NeighboursShareOne) {
  const auto rounds = groupings_of({.groups = 2}, hosts_of({0, 0, 0, 0, 1, 1, 1, 1}));
  ASSERT_EQ(rounds.size(), 1U);
  expect_whole(rounds[0], 8);
  EXPECT_EQ(rounds[0].members, (std::vector<std::vector<int>>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
}

TEST(Groups, RefusesWhatDoesNotDivideTheRanks) {
  for (const int groups : {3, 4, 5}) {
    EXPECT_THROW(groupings_of({.groups = groups}, hosts_of({0, 0, 0, 0})), UsageError) << groups;
  }
}

TEST(Groups, EveryPairOfRanksMeetsOnce) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const std::vector<int> one_host(static_cast<std::size_t>(ranks), 0);
    const auto rounds = groupings_of({.pairs = PairsOf::ranks}, hosts_of(one_host));
    EXPECT_EQ(rounds.size(), static_cast<std::size_t>(ranks - 1 + ranks % 2)) << "as few as can be";
    std::map<std::vector<int>, int> met;
    for (const Grouping& grouping : rounds) {
      expect_whole(grouping, one_host.size());
      for (const auto& members : grouping.members) {
        EXPECT_LE(members.size(), 2U);
        if (members.size() == 2) ++met[members];
      }
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(ranks * (ranks - 1) / 2));
    for (const auto& [pair, times] : met) EXPECT_EQ(times, 1);
  }
}

TEST(Groups, HostsMeetWithAllOfTheirRanks) {
  const auto rounds = groupings_of({.pairs = PairsOf::hosts}, hosts_of({0, 0, 1, 1, 2}));
  ASSERT_EQ(rounds.size(), 3U);
  std::set<std::vector<int>> met;
  for (const Grouping& grouping : rounds) {
    expect_whole(grouping, 5);
    met.insert(grouping.members.begin(), grouping.members.end());
  }
  for (const std::vector<int>& pair :
       std::vector<std::vector<int>>{{0, 1, 2, 3}, {0, 1, 4}, {2, 3, 4}}) {
    EXPECT_TRUE(met.contains(pair)) << show_ranks(pair);
  }
}

TEST(Groups, OneIsNoPair) {
  EXPECT_THROW(groupings_of({.pairs = PairsOf::ranks}, hosts_of({0})), UsageError);
  EXPECT_THROW(groupings_of({.pairs = PairsOf::hosts}, hosts_of({0, 0})), UsageError);
}

TEST(Groups, TimesAreThoseOfTheMembers) {
  Timing all;
  all.repetitions.push_back({.seconds = 4,
                             .skew_seconds = 3,
                             .start = 0,
                             .end = 4,
                             .slowest_rank = 2,
                             .rank_seconds = {1, 3, 4, 2}});
  const std::vector<int> members{0, 3};
  all.converged = true;
  const Timing own = timing_of(all, members, 0.01);
  EXPECT_FALSE(own.converged) << "of one repetition nothing is known";
  ASSERT_EQ(own.repetitions.size(), 1U);
  EXPECT_EQ(own.repetitions[0].seconds, 2);
  EXPECT_EQ(own.repetitions[0].skew_seconds, 1);
  EXPECT_EQ(own.repetitions[0].slowest_rank, 3);
  EXPECT_EQ(own.repetitions[0].rank_seconds, (std::vector<float>{1, 2}));
}

TEST(Groups, RanksInWords) {
  EXPECT_EQ(show_ranks(std::vector{0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(show_ranks(std::vector{5}), "5");
  EXPECT_EQ(show_ranks(std::vector<int>{}), "");
}

}  // namespace
}  // namespace scalebench
