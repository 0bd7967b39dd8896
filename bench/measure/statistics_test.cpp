// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace scalebench {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Statistics, UnknownIsNotZero) {
  EXPECT_TRUE(std::isnan(summarise({}).median));
  const std::vector<double> one{3.0};
  const Summary summary = summarise(one);
  EXPECT_EQ(summary.median, 3.0);
  EXPECT_TRUE(std::isnan(summary.ci_low));
  EXPECT_EQ(across_launches(one).kind, "");
}

TEST(Statistics, DescribesASimpleSet) {
  const Summary summary = summarise(one_to(101));
  EXPECT_EQ(summary.median, 51);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, 101);
  EXPECT_EQ(summary.p5, 6);
  EXPECT_EQ(summary.p95, 96);
  EXPECT_EQ(summary.mean, 51);
  EXPECT_EQ(median_of(std::vector<double>{4, 1, 3, 2}), 2.5);
}

// The ranks that research quotes: 10 launches: 2nd and 9th; 20: 6th and 15th; 30: 10th and 21st.
TEST(Statistics, MedianRanksAreTheBinomialOnes) {
  const auto expect = [](std::size_t n, std::size_t low, std::size_t high) {
    const MedianRanks ranks = median_ranks(n, static_cast<double>(n));
    EXPECT_EQ(ranks.low + 1, low) << n;
    EXPECT_EQ(ranks.high + 1, high) << n;
  };
  expect(6, 1, 6);
  expect(10, 2, 9);
  expect(20, 6, 15);
  expect(30, 10, 21);
  expect(1000, 469, 532);
}

TEST(Statistics, IntervalCoversTheMedianAsOftenAsItSays) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> skewed(0.0, 1.0);  // median exactly 1
  int covered = 0;
  const int trials = 2000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> samples(40);
    for (double& sample : samples) sample = skewed(random);
    const Summary summary = summarise(samples);
    if (summary.ci_low <= 1 && 1 <= summary.ci_high) ++covered;
  }
  EXPECT_GE(covered, trials * 94 / 100);
  EXPECT_LE(covered, trials * 995 / 1000) << "an interval that always covers says nothing";
}

TEST(Statistics, CorrelatedSamplesWidenTheInterval) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise;
  std::vector<double> independent, correlated;
  double state = 0;
  for (int i = 0; i < 400; ++i) {
    const double z = noise(random);
    state = 0.9 * state + std::sqrt(1 - 0.81) * z;
    independent.push_back(100 + z);
    correlated.push_back(100 + state);
  }
  EXPECT_GT(relative_half_width(summarise(correlated)),
            2 * relative_half_width(summarise(independent)));
}

TEST(Statistics, ASpikeDoesNotHideADrift) {
  std::vector<double> drifting = one_to(100);
  for (const std::size_t spike : {20U, 50U, 80U}) drifting[spike] = 1e6;
  std::vector<double> shuffled = drifting;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937_64(7));
  EXPECT_GT(relative_half_width(summarise(drifting)),
            1.5 * relative_half_width(summarise(shuffled)));
}

TEST(Statistics, AlternatingSamplesHaveAnIntervalOverBothKinds) {
  std::vector<double> samples;
  for (int i = 0; i < 400; ++i) samples.push_back(i % 2 == 0 ? 1.0 : 2.0);
  const Summary summary = summarise(samples);
  EXPECT_EQ(summary.ci_low, 1);
  EXPECT_EQ(summary.ci_high, 2);
  EXPECT_EQ(summary.n_effective, 400) << "no gain from negative correlation";
}

TEST(Statistics, CountsOutliersAndKeepsThem) {
  std::vector<double> samples = one_to(50);
  samples.push_back(1000);
  const Summary summary = summarise(samples);
  EXPECT_EQ(summary.outliers, 1U);
  EXPECT_EQ(summary.max, 1000);
}

TEST(Statistics, FewLaunchesGiveARangeThatSaysSo) {
  const LaunchInterval three = across_launches(std::vector<double>{2, 1, 3});
  EXPECT_EQ(three.kind, "range");
  EXPECT_EQ(three.low, 1);
  EXPECT_EQ(three.high, 3);
  EXPECT_EQ(across_launches(one_to(10)).kind, "95%");
  EXPECT_EQ(across_launches(one_to(10)).low, 2);
}

}  // namespace
}  // namespace scalebench
