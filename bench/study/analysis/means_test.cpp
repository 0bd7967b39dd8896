// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/means.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace scalebench::means_test {
namespace {

using Values = std::vector<double>;

TEST(MeanOf, HasStudentsIntervalFromSixOn) {
  const LaunchInterval six = mean_of(Values{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(six.value, 3.5);
  EXPECT_EQ(six.kind, "95%");
  EXPECT_NEAR(six.high - 3.5, 2.5706 * std::sqrt(3.5 / 6), 1e-4) << "t of five degrees of freedom";
  const LaunchInterval three = mean_of(Values{1, 2, 6});
  EXPECT_EQ(three.value, 3);
  EXPECT_EQ(three.kind, "range");
  EXPECT_EQ(three.low, 1);
  EXPECT_EQ(three.high, 6);
  EXPECT_TRUE(std::isnan(mean_of(Values{1}).low));
  EXPECT_TRUE(std::isnan(mean_of(Values{}).value));
  EXPECT_TRUE(std::isnan(mean_of(Values{1, std::nan("")}).value));
}

TEST(RatioOfMeans, IsOneOfSumsInRounds) {
  const Values h{10, 20, 12, 11, 13, 12}, t{5, 12.5, 7.5, 6, 8, 6.5};
  const LaunchInterval ratio = ratio_of_means(h, t, Sides::in_rounds);
  EXPECT_DOUBLE_EQ(ratio.value, 78 / 45.5);
  // By hand: the deviation of h / 13 - t / (45.5 / 6) is 0.0881864.
  EXPECT_NEAR(std::log(ratio.high / ratio.value), 2.5706 * 0.0881864 / std::sqrt(6), 1e-4);
  EXPECT_DOUBLE_EQ(ratio.low * ratio.high, ratio.value * ratio.value);
  const LaunchInterval few =
      ratio_of_means(Values{10, 20, 12}, Values{5, 12.5, 7.5}, Sides::in_rounds);
  EXPECT_EQ(few.kind, "range");
  EXPECT_EQ(few.value, 42 / 25.0);
  EXPECT_EQ(few.low, 1.6) << "of the rounds' ratios 2, 1.6 and 1.6";
  EXPECT_EQ(few.high, 2);
  EXPECT_EQ(ratio_of_means(h, h, Sides::in_rounds).low, 1) << "compared with itself";
}

TEST(RatioOfMeans, HasWelchsIntervalApart) {
  const LaunchInterval ratio = ratio_of_means(Values{9, 11}, Values{4, 5, 6}, Sides::apart);
  EXPECT_EQ(ratio.value, 2);
  EXPECT_EQ(ratio.kind, "95%");
  // Variances of the logs of both means: 0.01 and 1/75; Welch's df 2.68.
  const double half =
      student_t_quantile(0.025, std::pow(0.01 + 1 / 75.0, 2) / (1e-4 + std::pow(1 / 75.0, 2) / 2)) *
      std::sqrt(0.01 + 1 / 75.0);
  EXPECT_NEAR(std::log(ratio.high / 2), half, 1e-12);
  EXPECT_TRUE(std::isnan(ratio_of_means(Values{9}, Values{4, 5, 6}, Sides::apart).low));
  EXPECT_EQ(ratio_of_means(Values{9, 9}, Values{3, 3}, Sides::apart).high, 3) << "no noise";
}

TEST(DifferenceOfMeans, IsOfRoundsOrApart) {
  const Values n{6, 7}, one{10, 13};
  const LaunchInterval rounds = difference_of_means(n, one, 0.5, Sides::in_rounds);
  EXPECT_EQ(rounds.value, 0.75);
  EXPECT_EQ(rounds.low, 0.5) << "of 1 and 0.5";
  EXPECT_EQ(rounds.high, 1);
  const LaunchInterval apart = difference_of_means(n, one, 0.5, Sides::apart);
  EXPECT_EQ(apart.value, 0.75);
  EXPECT_LT(apart.low, 0) << "nothing says which belong together";
}

/// How a machine is from launch to launch: noise of its own, noise that both launches of a round
/// share, and how many launches take twice as long.
struct Machine {
  std::string name;
  double noise;
  double shared = 0;
  double slow = 0;
};

/// Of studies of so many rounds on that machine, the share whose interval holds the efficiency.
double coverage(const Machine& machine, std::size_t rounds) {
  constexpr int kStudies = 20000;
  std::mt19937_64 random(rounds);
  std::normal_distribution<double> normal;
  std::bernoulli_distribution slow(machine.slow);
  int holds = 0;
  for (int study = 0; study < kStudies; ++study) {
    Values h(rounds), t(rounds);
    for (std::size_t round = 0; round < rounds; ++round) {
      const double level = 1 + machine.shared * normal(random);
      const auto launch = [&](double seconds) {
        return seconds * level * (slow(random) ? 2 : 1) * (1 + machine.noise * normal(random));
      };
      h[round] = launch(10);
      t[round] = launch(12.5);
    }
    const LaunchInterval interval = ratio_of_means(h, t, Sides::in_rounds);
    holds += interval.low <= 0.8 && 0.8 <= interval.high ? 1 : 0;
  }
  return static_cast<double>(holds) / kStudies;
}

TEST(RatioOfMeans, LiesInItsIntervalAsOftenAsThisSays) {
  for (const Machine& machine :
       {Machine{"5 %", 0.05}, Machine{"15 %", 0.15}, Machine{"15 % shared by a round", 0.05, 0.15},
        Machine{"one in five twice as long", 0.05, 0, 0.2}}) {
    for (const std::size_t rounds : {6U, 12U, 20U}) {
      const double covered = coverage(machine, rounds);
      RecordProperty(machine.name + std::to_string(rounds), std::to_string(covered));
      EXPECT_GT(covered, 0.93) << machine.name << ", " << rounds << " rounds";
      EXPECT_LT(covered, 0.97) << machine.name << ", " << rounds << " rounds";
    }
  }
}

}  // namespace
}  // namespace scalebench::means_test
