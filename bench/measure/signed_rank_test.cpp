// SPDX-License-Identifier: Apache-2.0
// p-values that other programs give for the same numbers, and intervals that hold the truth as
// often as they say, where what a round does to both sides is ten times what is looked for.
#include "bench/measure/signed_rank.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace scalebench::signed_rank_test {
namespace {

/// Ratios with these logarithms, as pairs.
double p_of(const std::vector<double>& logs) {
  std::vector<double> a, b;
  for (const double log : logs) {
    a.push_back(1);
    b.push_back(std::exp(log));
  }
  return signed_rank_p_value(a, b);
}

// Hollander and Wolfe's nine patients, Hamilton's depression scale before and after: R's example of
// wilcox.test, whose one-sided p-value is 0.01953125.
const std::vector<double> kPatients{0.952, -0.147, 1.022,  0.430, 0.620,
                                    0.590, 0.490,  -0.080, 0.010};

TEST(SignedRank, IsExactForFewPairs) {
  EXPECT_NEAR(p_of(kPatients), 2 * 0.01953125, 1e-12);
  EXPECT_NEAR(p_of({1, 2, 3, 4, 5, 6}), 2.0 / 64, 1e-15);
  EXPECT_NEAR(p_of({1, -2, 3, 4, 5, 6}), 6.0 / 64, 1e-15) << "W = 2: {}, {1} and {2}, both ways";
  EXPECT_EQ(p_of({0.3}), 1);
  EXPECT_TRUE(std::isnan(p_of({})));
}

TEST(SignedRank, CorrectsForTiesAndKnowsEqualPairs) {
  EXPECT_EQ(p_of({0, 0, 0, 0}), 1);
  // Ranks 1.5 1.5 3.5 3.5 5 6 7: W = 3.5 of 28, variance 139 / 4.
  const double z = (14 - 3.5 - 0.5) / std::sqrt(139.0 / 4);
  EXPECT_NEAR(p_of({1, 1, 2, -2, 3, 4, 5}), std::erfc(z / std::sqrt(2.0)), 1e-12);
}

TEST(SignedRank, KnowsItsSmallestValue) {
  EXPECT_EQ(smallest_signed_rank_p_value(0), 1);
  EXPECT_EQ(smallest_signed_rank_p_value(6), 2.0 / 64);
  EXPECT_EQ(smallest_signed_rank_p_value(10), 2.0 / 1024);
}

TEST(PairwiseMeans, HaveTheLocationInTheirMiddle) {
  const std::vector<double> three{1, 2, 6}, wild{1, 1, 1, 1, 1000};
  EXPECT_EQ(pairwise_means(three), (std::vector<double>{1, 1.5, 2, 3.5, 4, 6}));
  EXPECT_EQ(median_of(pairwise_means(wild)), 1);
  EXPECT_TRUE(pairwise_means({}).empty());
}

TEST(PairedRatio, HasAnIntervalFromSixPairsOn) {
  const std::vector<double> a{1, 2, 4, 8, 16, 32}, b{1.1, 2.2, 4.4, 8.8, 17.6, 35.2};
  const RatioInterval of_six = paired_ratio_of(a, b);
  EXPECT_NEAR(of_six.ratio, 1.1, 1e-12);
  EXPECT_NEAR(of_six.low, 1.1, 1e-12) << "what a round does to both is in neither end";
  EXPECT_NEAR(of_six.high, 1.1, 1e-12);
  EXPECT_TRUE(std::isnan(paired_ratio_of(std::span(a).first(5), std::span(b).first(5)).low));
  EXPECT_TRUE(std::isnan(paired_ratio_of({}, {}).ratio));
}

TEST(PairedRatio, IsTheSetOfRatiosThatTheTestAllows) {
  const RatioInterval interval = [] {
    std::vector<double> a(kPatients.size(), 1), b;
    for (const double log : kPatients) b.push_back(std::exp(log));
    return paired_ratio_of(a, b);
  }();
  const auto p_at = [](double ratio) {
    std::vector<double> shifted;
    for (const double log : kPatients) shifted.push_back(log - std::log(ratio));
    return p_of(shifted);
  };
  EXPECT_GE(p_at(interval.low * 1.0001), 0.05);
  EXPECT_LT(p_at(interval.low * 0.9999), 0.05);
  EXPECT_GE(p_at(interval.high * 0.9999), 0.05);
  EXPECT_LT(p_at(interval.high * 1.0001), 0.05);
}

constexpr int kTrials = 4000;

/// Pairs of launches of which both share the state of their round.
double coverage(std::size_t pairs, double truth) {
  std::mt19937_64 random(11);
  std::lognormal_distribution<double> round(0, 0.3), launch(0, 0.03);
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> a, b;
    for (std::size_t i = 0; i < pairs; ++i) {
      const double shared = round(random);
      a.push_back(shared * launch(random));
      b.push_back(truth * shared * launch(random));
    }
    const RatioInterval interval = paired_ratio_of(a, b);
    held += interval.low <= truth && truth <= interval.high ? 1 : 0;
  }
  return static_cast<double>(held) / kTrials;
}

/// What theory gives the interval of n pairs: the largest tails of the signed-rank sum that 2.5 %
/// hold are outside. Each rank is in the sum or not, all ways alike.
double coverage_by_theory(std::size_t n) {
  std::vector<double> of{1};  // ways to have each sum
  for (std::size_t rank = 1; rank <= n; ++rank) {
    std::vector<double> more(of.size() + rank);
    for (std::size_t sum = 0; sum < of.size(); ++sum) {
      more[sum] += of[sum] / 2;
      more[sum + rank] += of[sum] / 2;
    }
    of = more;
  }
  double tail = 0;
  for (std::size_t sum = 0; tail + of[sum] <= 0.025; ++sum) tail += of[sum];
  return 1 - 2 * tail;
}

// 96.9 % of 6 pairs, of which no interval is nearer.
TEST(PairedRatio, CoversTheTruthAsOftenAsItSays) {
  EXPECT_NEAR(coverage_by_theory(6), 1 - 2.0 / 64, 1e-12);
  for (const std::size_t pairs : {6U, 7U, 8U, 9U, 10U, 15U, 20U, 60U}) {
    const double theory = pairs > 50 ? 0.95 : coverage_by_theory(pairs);
    const double chance = 3.5 * std::sqrt(theory * (1 - theory) / kTrials);
    EXPECT_NEAR(coverage(pairs, 1.05), theory, chance) << pairs;
    EXPECT_GE(theory, 0.95);
    EXPECT_LE(theory, 0.97) << pairs;
  }
}

}  // namespace
}  // namespace scalebench::signed_rank_test
