// SPDX-License-Identifier: Apache-2.0
// p-values and intervals that other programs give for the same numbers, and the verdicts.
#include "bench/study/analysis/pairs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// R's example of wilcox.test: permeability of the placenta at term and at 12 to 26 weeks.
const std::vector<double> kTerm{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
const std::vector<double> kWeeks{1.15, 0.88, 0.90, 0.74, 1.21};

std::vector<double> from_to(int n, double first, double step) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(first + i * step);
  return values;
}

TEST(RankSum, IsExactForSmallSamples) {
  EXPECT_NEAR(rank_sum_p_value(kTerm, kWeeks), 0.2544122544122544, 1e-14);
  EXPECT_NEAR(rank_sum_p_value(kWeeks, kTerm), 0.2544122544122544, 1e-14);
  EXPECT_NEAR(rank_sum_p_value(from_to(30, 0, 1), from_to(30, 4.5, 1)), 0.06539911471328003, 1e-13);
  EXPECT_DOUBLE_EQ(rank_sum_p_value(from_to(5, 1, 1), from_to(5, 9, 1)), 2.0 / 252);
  EXPECT_EQ(rank_sum_p_value(std::vector<double>{1}, std::vector<double>{2}), 1);
}

TEST(RankSum, IsNormalForTiesAndLargeSamples) {
  const std::vector<double> a{1, 2, 2, 3, 5, 5, 7, 8}, b{2, 4, 5, 6, 8, 9, 9, 10, 11};
  EXPECT_NEAR(rank_sum_p_value(a, b), 0.05281840077054885, 1e-14);
  EXPECT_NEAR(rank_sum_p_value(from_to(40, 0, 1), from_to(45, 5.05, 1.1)), 0.002491689327006908,
              1e-14);
  EXPECT_EQ(rank_sum_p_value(from_to(8, 3, 0), from_to(8, 3, 0)), 1) << "all values are equal";
}

TEST(RankSum, KnowsItsSmallestValue) {
  EXPECT_DOUBLE_EQ(smallest_p_value(3, 3), 0.1);
  EXPECT_DOUBLE_EQ(smallest_p_value(10, 10), 2.0 / 184756);
  EXPECT_EQ(launches_needed(1), 4U);
  EXPECT_EQ(launches_needed(4), 5U);
  EXPECT_EQ(launches_needed(24), 7U);
}

TEST(Ratio, HasTheIntervalOfTheRankSumTest) {
  // Tables give 8 as the critical U of 10 and 5 at 5 %: the 9th ratio from either end.
  const RatioInterval ratio = ratio_of(kTerm, kWeeks);
  EXPECT_DOUBLE_EQ(ratio.ratio, 0.90 / 1.415);
  EXPECT_DOUBLE_EQ(ratio.low, 0.74 / 1.45);
  EXPECT_DOUBLE_EQ(ratio.high, 1.21 / 1.04);
}

TEST(Ratio, HasNoIntervalBelowFourASide) {
  EXPECT_TRUE(std::isnan(ratio_of(from_to(3, 1, 1), from_to(3, 2, 1)).low));
  const RatioInterval four = ratio_of(from_to(4, 1, 1), from_to(4, 10, 1));
  EXPECT_DOUBLE_EQ(four.low, 10.0 / 4);
  EXPECT_DOUBLE_EQ(four.high, 13.0 / 1);
  EXPECT_TRUE(std::isnan(ratio_of({}, kTerm).ratio));
}

TEST(Ratio, CoversTheTruthAsOftenAsItSays) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> spread(0, 0.1);
  int covered = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> a, b;
    for (int i = 0; i < 8; ++i) {
      a.push_back(spread(random));
      b.push_back(1.2 * spread(random));
    }
    const RatioInterval ratio = ratio_of(a, b);
    covered += ratio.low <= 1.2 && 1.2 <= ratio.high ? 1 : 0;
  }
  EXPECT_GE(covered, 1880) << "95 % of 2000, less three standard deviations";
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

/// Ten launches around `center`, 0.1 % apart.
std::vector<double> around(double center, double step = 0.001) {
  return from_to(10, center * (1 - 4.5 * step), center * step);
}

TEST(CompareCells, TellsFasterFromSlowerFromSame) {
  const auto cells = compare_cells(std::vector<CellSamples>{
      {around(1), around(1.00005)}, {around(1), around(1.1)}, {around(1), around(0.9)}});
  EXPECT_EQ(cells[0].verdict, Verdict::same);
  EXPECT_EQ(cells[1].verdict, Verdict::slower);
  EXPECT_EQ(cells[2].verdict, Verdict::faster);
  EXPECT_NEAR(cells[1].ratio, 1.1, 1e-9);
  EXPECT_NEAR(cells[1].p_holm, 3 * 2.0 / 184756, 1e-12);
  EXPECT_NEAR(cells[0].smallest_effect, 0.03 + (cells[0].ratio_high - cells[0].ratio_low) / 2,
              1e-15);
  EXPECT_TRUE(cells[1].differs() && cells[2].differs() && !cells[0].differs());
}

TEST(CompareCells, TakesASignificantTrifleForTheSame) {
  const auto cells = compare_cells(std::vector<CellSamples>{{around(1), around(1.02)}});
  EXPECT_LT(cells[0].p_holm, 0.001);
  EXPECT_EQ(cells[0].verdict, Verdict::same);
}

TEST(CompareCells, IsAmbiguousWhereNothingIsShown) {
  const auto cells = compare_cells(std::vector<CellSamples>{
      {around(1, 0.05), around(1.01, 0.05)},  // an interval far wider than the floor
      {around(1), around(1.03, 0.002)},       // one that lies on it
      {{1.0, 1.1, 1.2}, {2.0, 2.1, 2.2}}});   // three launches: no interval
  for (const CellComparison& cell : cells) EXPECT_EQ(cell.verdict, Verdict::ambiguous);
}

TEST(CompareCells, NeverPassesAMissingSide) {
  const auto cells = compare_cells(std::vector<CellSamples>{{around(1), {}}, {{}, {}}});
  for (const CellComparison& cell : cells) {
    EXPECT_EQ(cell.verdict, Verdict::missing);
    EXPECT_TRUE(std::isnan(cell.p_holm));
  }
}

TEST(CompareCells, TakesTheSpreadOfAnEarlierComparisonAsItsFloor) {
  const std::vector<double> a = around(1), b = around(1.1);
  const auto cells = compare_cells(std::vector<CellSamples>{{a, b}, {a, b, 0.2}});
  EXPECT_EQ(cells[0].verdict, Verdict::slower);
  EXPECT_EQ(cells[1].verdict, Verdict::same);
}

TEST(CompareCells, NeedsMoreEvidenceAmongManyCells) {
  const CellSamples five{from_to(5, 1, 0.001), from_to(5, 1.1, 0.001)};
  EXPECT_EQ(compare_cells(std::vector<CellSamples>(6, five))[0].verdict, Verdict::slower);
  EXPECT_EQ(compare_cells(std::vector<CellSamples>(7, five))[0].verdict, Verdict::ambiguous);
}

}  // namespace
}  // namespace scalebench
