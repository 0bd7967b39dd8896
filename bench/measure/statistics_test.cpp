// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>
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
  EXPECT_EQ(summary.p95, 96);
  EXPECT_EQ(summary.p99, 100);
  EXPECT_EQ(summary.mean, 51);
  EXPECT_EQ(median_of(std::vector<double>{4, 1, 3, 2}), 2.5);
}

TEST(Statistics, ClaimsNoNinetyNinthPercentileOfFewerThanAHundred) {
  EXPECT_TRUE(std::isnan(summarise({}).p99));
  EXPECT_TRUE(std::isnan(summarise(one_to(99)).p99));
  EXPECT_DOUBLE_EQ(summarise(one_to(100)).p99, 99.01);
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

// Halves are summed exactly, so that neither a rank nor an interval hangs on the library's
// rounding.
TEST(Statistics, IntervalsOfFewAreThoseThatAreCountedOut) {
  for (int n = 6; n <= 60; ++n) {
    double ways = 1, below = 0, before = 0;  // of 2^n: so many below the median, so many or fewer
    const double most = std::ldexp(0.025, n);
    int place = 0;
    for (; below + ways <= most; ++place) {
      before = below += ways;
      ways = ways * (n - place) / (place + 1);
    }
    const MedianRanks ranks = median_ranks(static_cast<std::size_t>(n), n);
    EXPECT_EQ(ranks.low, static_cast<std::size_t>(place - 1)) << n;
    EXPECT_EQ(ranks.high, static_cast<std::size_t>(n - place)) << n;
    const double share = (most - before) / ways;
    const double inward = (n - place) * share / (place + (n - 2 * place) * share);
    const LaunchInterval interval = across_launches(one_to(n));
    EXPECT_NEAR(interval.low, place + inward, 1e-9) << n;
    EXPECT_NEAR(interval.high, n + 1 - place - inward, 1e-9) << n;
  }
}

/// How often the median, exactly 1, lies in what `interval_of` makes of n samples.
template <class Distribution, class Interval>
double coverage(std::size_t n, Distribution distribution, Interval interval_of, int trials) {
  std::mt19937_64 random(7);
  int covered = 0;
  std::vector<double> samples(n);
  for (int trial = 0; trial < trials; ++trial) {
    for (double& sample : samples) sample = distribution(random);
    const auto [low, high] = interval_of(samples);
    covered += low <= 1 && 1 <= high ? 1 : 0;
  }
  return static_cast<double>(covered) / trials;
}

// What is interpolated depends on the shape: by less than two points where values lie densely
// around the median, however skewed.
TEST(Statistics, IntervalsOfLaunchesCoverTheMedianAsOftenAsTheySay) {
  const auto interval = [](const std::vector<double>& samples) {
    const LaunchInterval of = across_launches(samples);
    return std::pair(of.low, of.high);
  };
  constexpr int kTrials = 4000;
  for (const std::size_t n : {6U, 7U, 8U, 9U, 10U, 12U, 15U, 20U, 40U}) {
    for (const double share :
         {coverage(n, std::normal_distribution(1.0, 0.05), interval, kTrials),
          coverage(n, std::lognormal_distribution(0.0, 1.0), interval, kTrials)}) {
      EXPECT_GE(share, 0.93) << n;
      EXPECT_LE(share, 0.97) << n;
    }
  }
}

// Of independent repetitions an interval is never too narrow. What looks like correlation by chance
// makes it wider: 97.5 to 99.6 %.
TEST(Statistics, IntervalCoversTheMedianAtLeastAsOftenAsItSays) {
  const auto interval = [](const std::vector<double>& samples) {
    const Summary of = summarise(samples);
    return std::pair(of.ci_low, of.ci_high);
  };
  for (const std::size_t n : {40U, 100U, 400U, 1000U}) {
    const double share = coverage(n, std::lognormal_distribution(0.0, 1.0), interval, 2000);
    EXPECT_GE(share, 0.95) << n;
    EXPECT_LE(share, 0.998) << n << ": an interval that always covers says nothing";
  }
}

// Repetitions as programs really give them, around a median of 100.

enum class Kind {
  independent,
  slow_swings,  // each remembers 0.9 of the one before
  hidden,       // the same swings under a noise that is new in each, which lag 1 does not see
  two_speeds,   // 200 at one speed, 200 at another 20 % away, and so on
};

std::vector<double> repetitions(Kind kind, std::size_t n, std::mt19937_64& random) {
  std::normal_distribution<double> noise;
  double swing = noise(random);
  const std::size_t begin = random() % 400;
  std::vector<double> samples(n);
  for (std::size_t i = 0; i < n; ++i) {
    swing = 0.9 * swing + std::sqrt(1 - 0.81) * noise(random);
    const double fresh = noise(random);
    double deviation = fresh;
    if (kind == Kind::slow_swings) deviation = swing;
    if (kind == Kind::hidden) deviation = swing + fresh;
    if (kind == Kind::two_speeds) deviation = fresh + ((begin + i) / 200 % 2 == 0 ? -10 : 10);
    samples[i] = 100 + 0.5 * deviation;
  }
  return samples;
}

struct Covered {
  int intervals = 0;
  int right = 0;
  double share() const { return static_cast<double>(right) / intervals; }
  void count(const Summary& summary) {
    if (std::isnan(summary.ci_low)) return;
    ++intervals;
    if (summary.ci_low <= 100 && 100 <= summary.ci_high) ++right;
  }
};

TEST(Statistics, IntervalsOfCorrelatedRepetitionsCover) {
  std::mt19937_64 random(7);
  constexpr int kTrials = 600;
  for (const Kind kind : {Kind::independent, Kind::slow_swings, Kind::hidden}) {
    for (const std::size_t n : {400U, 1000U}) {
      Covered covered;
      for (int i = 0; i < kTrials; ++i) covered.count(summarise(repetitions(kind, n, random)));
      EXPECT_GE(covered.share(), 0.95) << "kind " << static_cast<int>(kind) << ", n " << n;
      EXPECT_LE(covered.share(), 0.998) << "kind " << static_cast<int>(kind) << ", n " << n;
      EXPECT_GE(covered.intervals, kTrials * 9 / 10) << "kind " << static_cast<int>(kind);
    }
  }
}

// Whoever looks again and again, and stops when the interval is narrow, must not fool herself.
TEST(Statistics, AnIntervalThatEndedTheRepetitionsCovers) {
  std::mt19937_64 random(11);
  constexpr int kTrials = 400;
  constexpr double kTarget = 0.002;
  for (const Kind kind : {Kind::independent, Kind::slow_swings, Kind::hidden}) {
    Covered covered;
    for (int i = 0; i < kTrials; ++i) {
      const std::vector<double> all = repetitions(kind, 5000, random);
      for (std::size_t n = 10; n < all.size(); n += std::max<std::size_t>(10, n / 10)) {
        const Summary summary = summarise(std::span(all).first(n));
        if (!is_narrow(summary, kTarget)) continue;
        covered.count(summary);
        break;
      }
    }
    EXPECT_GE(covered.share(), 0.93) << "kind " << static_cast<int>(kind);
    EXPECT_GE(covered.intervals, kTrials / 2) << "kind " << static_cast<int>(kind);
  }
}

TEST(Statistics, TwoSpeedsAreNeverCalledConverged) {
  std::mt19937_64 random(13);
  for (const std::size_t n : {400U, 1000U, 5000U}) {
    Covered covered;
    for (int i = 0; i < 200; ++i) {
      const Summary summary = summarise(repetitions(Kind::two_speeds, n, random));
      EXPECT_FALSE(is_narrow(summary, 0.01)) << n;
      covered.count(summary);
    }
    // Any value between the two speeds is a median; an interval within one speed is wrong.
    if (covered.intervals > 20) {
      EXPECT_GE(covered.share(), 0.93) << n;
    }
  }
}

TEST(Statistics, CorrelationLeavesFewerSamplesOrNoInterval) {
  std::mt19937_64 random(7);
  const Summary independent = summarise(repetitions(Kind::independent, 1000, random));
  const Summary correlated = summarise(repetitions(Kind::slow_swings, 1000, random));
  EXPECT_GT(independent.n_effective, 500);
  EXPECT_LT(correlated.n_effective, 100) << "true: 1000 / 19";
  EXPECT_TRUE(std::isnan(summarise(one_to(100)).ci_low)) << "a drift repeats nothing";
}

TEST(Statistics, ASpikeDoesNotHideADrift) {
  std::vector<double> drifting = one_to(100);
  for (const std::size_t spike : {20U, 50U, 80U}) drifting[spike] = 1e6;
  std::vector<double> shuffled = drifting;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937_64(7));
  EXPECT_LT(summarise(drifting).n_effective, summarise(shuffled).n_effective / 2);
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
  // Between the second and the third value, which cover 97.9 and 89.1 %.
  EXPECT_NEAR(across_launches(one_to(10)).low, 2.658, 0.001);
  // So many that 2^-n is no double: 5001 +- 1.96 * 50, between the order statistics.
  EXPECT_NEAR(across_launches(one_to(10001)).low, 4903, 0.5);
  EXPECT_NEAR(across_launches(one_to(10001)).high, 5099, 0.5);
}

}  // namespace

// Against printed tables.

namespace {

TEST(StudentT, HasTheQuantilesOfPrintedTables) {
  EXPECT_NEAR(student_t_quantile(0.05, 19), 1.729133, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.025, 7), 2.364624, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.005, 10), 3.169273, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.0005, 5), 6.868827, 1e-5);
  EXPECT_NEAR(student_t_quantile(0.975, 7), -2.364624, 1e-6);
}

TEST(StudentT, IsNormalForManyDegrees) {
  EXPECT_NEAR(student_t_quantile(0.025, 1e7), 1.959964, 1e-5);
  EXPECT_NEAR(student_t_quantile(0.05, 1e6), 1.644854, 1e-5);
}

}  // namespace

// Least squares.

namespace {

TEST(LeastSquares, DropsTheColumnThatWantsANegativeCoefficient) {
  // Unconstrained: 3 * first - 1 * second.
  const Columns columns{{1, 1, 0}, {0, 1, 0}};
  const auto x = nonnegative_least_squares(columns, std::vector<double>{3, 2, 5});
  EXPECT_DOUBLE_EQ(x[0], 2.5);
  EXPECT_EQ(x[1], 0);
}

TEST(LeastSquares, SurvivesDependentAndZeroColumns) {
  const Columns columns{{1, 2}, {2, 4}, {0, 0}};
  const auto x = nonnegative_least_squares(columns, std::vector<double>{4, 8});
  EXPECT_DOUBLE_EQ(x[0] + 2 * x[1], 4);
  EXPECT_EQ(x[2], 0);
  EXPECT_EQ(nonnegative_least_squares({{1, 1}}, std::vector<double>{-1, -1})[0], 0);
}

}  // namespace

}  // namespace scalebench
