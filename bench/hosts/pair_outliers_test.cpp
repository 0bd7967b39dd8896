// SPDX-License-Identifier: Apache-2.0
// Made-up tables of times: what was put in is found, by its name, and nothing else is.
#include "bench/hosts/pair_outliers.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace scalebench {
namespace {

/// All pairs with 3 % of noise; `slower(a, b)` times as long.
template <class Slower>
std::vector<PairTime> times(int members, unsigned seed, Slower slower) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.03);
  std::vector<PairTime> pairs;
  for (int a = 0; a < members; ++a) {
    for (int b = a + 1; b < members; ++b) {
      pairs.push_back({.a = a, .b = b, .seconds = 1e-3 * slower(a, b) * std::exp(noise(random))});
    }
  }
  return pairs;
}

constexpr auto kNothing = [](int, int) { return 1.0; };

TEST(PairOutliers, NamesTheMemberWhosePairsAreSlower) {
  for (const int members : {4, 5, 8, 16}) {
    const auto pairs = times(members, 1, [](int a, int b) { return a == 2 || b == 2 ? 2.0 : 1.0; });
    const auto found = pair_outliers(pairs, members, 1);
    ASSERT_EQ(found.size(), 1U) << members;
    EXPECT_EQ(found[0].a, 2);
    EXPECT_EQ(found[0].b, -1);
    EXPECT_NEAR(found[0].slower, 2, 0.15);
    EXPECT_LE(found[0].p_value, 0.01);
  }
}

TEST(PairOutliers, NamesTheOnePairThatIsSlower) {
  for (const int members : {4, 5, 8, 16}) {
    const auto pairs = times(members, 2, [](int a, int b) { return a == 1 && b == 3 ? 2.0 : 1.0; });
    const auto found = pair_outliers(pairs, members, 1);
    ASSERT_EQ(found.size(), 1U) << members;
    EXPECT_EQ(found[0].a, 1);
    EXPECT_EQ(found[0].b, 3);
    EXPECT_NEAR(found[0].slower, 2, 0.2);
  }
}

TEST(PairOutliers, NamesAMemberAndAPairThatHasNothingToDoWithIt) {
  const auto pairs = times(8, 3, [](int a, int b) {
    return (a == 5 || b == 5 ? 1.5 : 1.0) * (a == 0 && b == 1 ? 3.0 : 1.0);
  });
  const auto found = pair_outliers(pairs, 8, 1);
  ASSERT_EQ(found.size(), 2U);
  const PairOutlier& pair = found[found[0].b < 0 ? 1 : 0];
  const PairOutlier& member = found[found[0].b < 0 ? 0 : 1];
  EXPECT_EQ(pair.a, 0);
  EXPECT_EQ(pair.b, 1);
  EXPECT_NEAR(pair.slower, 3, 0.5);
  EXPECT_EQ(member.a, 5);
  EXPECT_EQ(member.b, -1);
  EXPECT_NEAR(member.slower, 1.5, 0.1);
}

TEST(PairOutliers, SeveralSlowMembersDoNotHideEachOther) {
  // A pair is as slow as the slower of its two.
  for (const double other : {10.0, 3.0}) {
    for (const auto& [members, slow] : {std::pair(5, 2), {6, 2}, {7, 2}, {7, 3}, {10, 3}}) {
      const auto pairs = times(members, 7, [&, slow = slow](int a, int b) {
        return a == 0 ? 10.0 : std::min(a, b) < slow ? other : 1.0;
      });
      const auto found = pair_outliers(pairs, members, 1);
      std::set<int> named;
      for (const PairOutlier& one : found) {
        EXPECT_EQ(one.b, -1);
        EXPECT_NEAR(one.slower, one.a == 0 ? 10 : other, 0.1 * one.slower);
        named.insert(one.a);
      }
      EXPECT_EQ(found.size(), static_cast<std::size_t>(slow)) << members << " " << other;
      EXPECT_EQ(named.size(), found.size());
      EXPECT_TRUE(named.empty() || *named.rbegin() < slow);
    }
  }
}

TEST(PairOutliers, HalfOfAllAreNotSlowButTheOthersQuick) {
  const auto pairs = times(4, 8, [](int a, int) { return a < 2 ? 10.0 : 1.0; });
  EXPECT_TRUE(pair_outliers(pairs, 4, 1).empty());
}

TEST(PairOutliers, TheFewerOfTwoIslandsAreNotSlow) {
  const auto pairs = times(8, 9, [](int a, int b) { return (a < 3) == (b < 3) ? 1.0 : 3.0; });
  EXPECT_TRUE(pair_outliers(pairs, 8, 1).empty());
}

TEST(PairOutliers, PairsOfAnotherKindAreNoOutliers) {
  // Two hosts of four ranks: what crosses takes twenty times as long.
  const auto host = [](int member) { return member / 4; };
  auto pairs = times(8, 4, [&](int a, int b) {
    return (host(a) == host(b) ? 1.0 : 20.0) * (a == 6 || b == 6 ? 1.5 : 1.0);
  });
  for (PairTime& pair : pairs) pair.kind = host(pair.a) == host(pair.b) ? 0 : 1;
  const auto found = pair_outliers(pairs, 8, 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].a, 6);
  EXPECT_NEAR(found[0].slower, 1.5, 0.1);
}

TEST(PairOutliers, TheQuickAreNotAccused) {
  const auto pairs = times(6, 5, [](int a, int b) { return a == 2 && b == 4 ? 0.3 : 1.0; });
  EXPECT_TRUE(pair_outliers(pairs, 6, 1).empty());
}

TEST(PairOutliers, NoiseAloneIsRarelyAnOutlier) {
  // p <= 0.01 means one table in a hundred at most, and 10 % are more than three of its sigmas.
  for (const int members : {4, 6, 10}) {
    int accused = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
      accused += pair_outliers(times(members, seed, kNothing), members, 1).empty() ? 0 : 1;
    }
    EXPECT_LE(accused, 8) << members;  // of 300 with p = 0.01: more in 0.4 % of such tests
  }
}

TEST(PairOutliers, EqualTimesAndTooFewPairsSayNothing) {
  EXPECT_TRUE(pair_outliers({}, 0, 1).empty());
  const std::vector<PairTime> equal{{0, 1, 0, 1}, {0, 2, 0, 1}, {0, 3, 0, 1},
                                    {1, 2, 0, 1}, {1, 3, 0, 1}, {2, 3, 0, 1}};
  EXPECT_TRUE(pair_outliers(equal, 4, 1).empty());
  const auto few = times(3, 6, [](int a, int b) { return a == 0 && b == 1 ? 9.0 : 1.0; });
  EXPECT_TRUE(pair_outliers(few, 3, 1).empty());
}

TEST(PairOutliers, AllNoiseTakenAwayIsCertain) {
  const std::vector<PairTime> exact{{0, 1, 0, 2}, {0, 2, 0, 1}, {0, 3, 0, 1},
                                    {1, 2, 0, 1}, {1, 3, 0, 1}, {2, 3, 0, 1}};
  const auto found = pair_outliers(exact, 4, 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].b, 1);
  EXPECT_LT(found[0].p_value, 1e-6);
}

}  // namespace
}  // namespace scalebench
