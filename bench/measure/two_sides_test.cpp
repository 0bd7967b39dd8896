// SPDX-License-Identifier: Apache-2.0
// p-values that other programs give for the same numbers, and intervals that hold the truth as
// often as they say, where what a round does to both sides is ten times what is looked for.
#include "bench/measure/two_sides.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace scalebench::two_sides_test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

/// Ratios with these logarithms, as pairs.
double p_of(const std::vector<double>& logs) {
  std::vector<double> a, b;
  for (const double log : logs) {
    a.push_back(1);
    b.push_back(std::exp(log));
  }
  return compared_in_rounds(a, b).p_value;
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

TEST(SignedRank, IsExactWithTiesToo) {
  EXPECT_EQ(p_of({0, 0, 0, 0}), 1);
  // Ranks 1.5 1.5 3.5 3.5 5 6 7, of which -2 has 3.5. Of 128 ways 9 sum to that or less: {}, 1.5
  // and 3.5 twice each, 1.5 + 1.5; one with 5 is more.
  EXPECT_NEAR(p_of({1, 1, 2, -2, 3, 4, 5}), 2 * 6.0 / 128, 1e-12);
  EXPECT_NEAR(p_of({0, 1, 2, 3, 4, 5, 6}), 2.0 / 64, 1e-12) << "a zero says nothing";
}

TEST(SignedRank, KnowsItsSmallestValue) {
  EXPECT_EQ(smallest_p_in_rounds(0), 1);
  EXPECT_EQ(smallest_p_in_rounds(6), 2.0 / 64);
  EXPECT_EQ(smallest_p_in_rounds(10), 2.0 / 1024);
}

TEST(PairedRatio, IsNotMovedByAWildRound) {
  const std::vector<double> a{1, 1, 1, 1, 1}, b{2, 2, 2, 2, 1000};
  EXPECT_EQ(compared_in_rounds(a, b).ratio, 2);
}

TEST(PairedRatio, HasAnIntervalFromSixPairsOn) {
  const std::vector<double> a{1, 2, 4, 8, 16, 32}, b{1.1, 2.2, 4.4, 8.8, 17.6, 35.2};
  const TwoSides of_six = compared_in_rounds(a, b);
  EXPECT_NEAR(of_six.ratio, 1.1, 1e-12);
  EXPECT_NEAR(of_six.within_95.low, 1.1, 1e-12) << "what a round does to both is in neither end";
  EXPECT_NEAR(of_six.within_95.high, 1.1, 1e-12);
  const TwoSides of_five = compared_in_rounds(std::span(a).first(5), std::span(b).first(5));
  EXPECT_TRUE(std::isnan(of_five.within_95.low));
  EXPECT_NEAR(of_five.within_90.low, 1.1, 1e-12) << "2 / 32 is within 10 %";
  EXPECT_TRUE(std::isnan(compared_in_rounds({}, {}).ratio));
}

TEST(PairedRatio, IsTheSetOfRatiosThatTheTestAllows) {
  const Interval interval = [] {
    std::vector<double> a(kPatients.size(), 1), b;
    for (const double log : kPatients) b.push_back(std::exp(log));
    return compared_in_rounds(a, b).within_95;
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
double coverage_in_rounds(std::size_t pairs, double truth) {
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
    const Interval interval = compared_in_rounds(a, b).within_95;
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
    EXPECT_NEAR(coverage_in_rounds(pairs, 1.05), theory, chance) << pairs;
    EXPECT_GE(theory, 0.95);
    EXPECT_LE(theory, 0.97) << pairs;
  }
}

// Launches against launches.

// R's example of wilcox.test: permeability of the placenta at term and at 12 to 26 weeks.
const std::vector<double> kTerm{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
const std::vector<double> kWeeks{1.15, 0.88, 0.90, 0.74, 1.21};

std::vector<double> from_to(int n, double first, double step) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(first + i * step);
  return values;
}

double p_apart(const std::vector<double>& a, const std::vector<double>& b) {
  return compared_apart(a, b).p_value;
}

TEST(RankSum, IsExactForSmallSamples) {
  EXPECT_NEAR(p_apart(kTerm, kWeeks), 0.2544122544122544, 1e-14);
  EXPECT_NEAR(p_apart(kWeeks, kTerm), 0.2544122544122544, 1e-14);
  EXPECT_NEAR(p_apart(from_to(30, 1, 1), from_to(30, 5.5, 1)), 0.06539911471328003, 1e-13);
  EXPECT_DOUBLE_EQ(p_apart(from_to(5, 1, 1), from_to(5, 9, 1)), 2.0 / 252);
  EXPECT_EQ(p_apart({1}, {2}), 1);
}

TEST(RankSum, IsExactWithTiesToo) {
  // Ranks 1 2.5 2.5 and 4, of which b has 2.5 and 4: of the six choices two sum to 6.5 or more.
  EXPECT_NEAR(p_apart({1, 2}, {2, 3}), 2 * 2.0 / 6, 1e-14);
  EXPECT_EQ(p_apart(from_to(8, 3, 0), from_to(8, 3, 0)), 1) << "all values are equal";
  EXPECT_NEAR(p_apart(from_to(4, 3, 0), from_to(4, 5, 0)), smallest_p_apart(4, 4), 1e-14);
}

TEST(RankSum, IsNormalForManyValues) {
  EXPECT_NEAR(p_apart(from_to(40, 1, 1), from_to(45, 6.05, 1.1)), 0.002491689327006908, 1e-14);
}

TEST(RankSum, KnowsItsSmallestValue) {
  EXPECT_DOUBLE_EQ(smallest_p_apart(3, 3), 0.1);
  EXPECT_DOUBLE_EQ(smallest_p_apart(10, 10), 2.0 / 184756);
}

TEST(RatioApart, HasTheIntervalOfTheRankSumTest) {
  // Tables give 8 as the critical U of 10 and 5 at 5 %: the 9th ratio from either end.
  const TwoSides sides = compared_apart(kTerm, kWeeks);
  EXPECT_DOUBLE_EQ(sides.within_95.low, 0.74 / 1.45);
  EXPECT_DOUBLE_EQ(sides.within_95.high, 1.21 / 1.04);
  EXPECT_LT(sides.within_95.low, sides.within_90.low);
  EXPECT_LT(sides.within_90.high, sides.within_95.high);
}

TEST(RatioApart, IsTheMiddleOfAllRatios) {
  EXPECT_DOUBLE_EQ(compared_apart(std::vector<double>{1, 2}, std::vector<double>{3, 8}).ratio,
                   std::sqrt(3.0 * 4.0))
      << "of 3, 1.5, 8 and 4";
}

TEST(RatioApart, HasNoIntervalBelowFourASide) {
  EXPECT_TRUE(std::isnan(compared_apart(from_to(3, 1, 1), from_to(3, 2, 1)).within_95.low));
  const Interval four = compared_apart(from_to(4, 1, 1), from_to(4, 10, 1)).within_95;
  EXPECT_DOUBLE_EQ(four.low, 10.0 / 4);
  EXPECT_DOUBLE_EQ(four.high, 13.0 / 1);
  EXPECT_TRUE(std::isnan(compared_apart({}, kTerm).ratio));
}

/// What theory gives the interval of n values against m: the largest tails of Mann and Whitney's
/// U that 2.5 % hold are outside. Counted by all orders, not by the code under test.
double coverage_apart_by_theory(int n, int m) {
  std::vector<std::vector<std::vector<double>>> orders(n + 1);  // of i and j values with U = u
  for (int i = 0; i <= n; ++i) {
    for (int j = 0; j <= m; ++j) {
      std::vector<double>& here = orders[i].emplace_back(n * m + 1, 0.0);
      if (i == 0 || j == 0) here[0] = 1;
      for (int u = 0; i > 0 && j > 0 && u <= n * m; ++u) {
        here[u] = (u >= j ? orders[i - 1][j][u - j] : 0) + orders[i][j - 1][u];
      }
    }
  }
  const std::vector<double>& of = orders[n][m];
  const double all = std::accumulate(of.begin(), of.end(), 0.0);
  double tail = 0;
  for (int u = 0; tail + of[u] <= 0.025 * all; ++u) tail += of[u];
  return 1 - 2 * tail / all;
}

double coverage_apart(int n, int m, double truth, int trials) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> spread(0, 0.1);
  int covered = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> a, b;
    for (int i = 0; i < n; ++i) a.push_back(spread(random));
    for (int i = 0; i < m; ++i) b.push_back(truth * spread(random));
    const Interval ratio = compared_apart(a, b).within_95;
    covered += ratio.low <= truth && truth <= ratio.high ? 1 : 0;
  }
  return static_cast<double>(covered) / trials;
}

// 97.1 % of 4 a side and 96.8 % of 5, of which no interval is nearer; then up to 96.2 %.
TEST(RatioApart, CoversTheTruthAsOftenAsItSays) {
  EXPECT_NEAR(coverage_apart_by_theory(4, 4), 0.9714, 1e-4);
  for (const auto& [n, m] : {std::pair(4, 4),
                             {5, 5},
                             {6, 6},
                             {7, 7},
                             {8, 8},
                             {10, 10},
                             {5, 12},
                             {20, 20},
                             {30, 30},
                             {40, 40}}) {
    const double theory = n > 30 ? 0.95 : coverage_apart_by_theory(n, m);
    const double chance = 3.5 * std::sqrt(theory * (1 - theory) / kTrials);
    EXPECT_NEAR(coverage_apart(n, m, 1.2, kTrials), theory, chance) << n << " against " << m;
    EXPECT_GE(theory, 0.95);
    EXPECT_LE(theory, std::min(n, m) < 6 ? 0.972 : 0.965) << n << " against " << m;
  }
}

TEST(Holm, AdjustsStepByStep) {
  EXPECT_THAT(holm(std::vector<double>{0.01, 0.04, 0.03, 0.005}),
              ElementsAre(DoubleNear(0.03, 1e-15), DoubleNear(0.06, 1e-15), DoubleNear(0.06, 1e-15),
                          DoubleNear(0.02, 1e-15)));
  const std::vector<double> with_missing = holm(std::vector<double>{NAN, 0.02, 0.9});
  EXPECT_TRUE(std::isnan(with_missing[0]));
  EXPECT_DOUBLE_EQ(with_missing[1], 0.04) << "what was not tested does not count";
  EXPECT_EQ(with_missing[2], 0.9);
}

}  // namespace
}  // namespace scalebench::two_sides_test
