// SPDX-License-Identifier: Apache-2.0
#include "models/learning_rate.hpp"

#include <gtest/gtest.h>

namespace scalebench {
namespace {

TEST(LearningRate, ConstantWithoutRules) {
  EXPECT_DOUBLE_EQ(learning_rate({0.001}, 8, 0, 100), 0.001);
  EXPECT_DOUBLE_EQ(learning_rate({0.001}, 8, 12345, 100), 0.001);
}

TEST(LearningRate, LinearInTheRanks) {
  // SMDDP's rule: 0.000125 x size is 0.001 at 8.
  EXPECT_DOUBLE_EQ(learning_rate({0.000125, RateScaling::linear}, 8, 0, 100), 0.001);
}

TEST(LearningRate, HorovodWarmUp) {
  // Horovod's MNIST example: 0.001 x size, 3 epochs, here of 10 steps on 4 ranks. Values from
  // 1/4 * (epoch * 3/3 + 1) with epoch = (step + 1) / 10.
  const RateRule rule{0.001, RateScaling::linear, 3};
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 0, 10), 0.0011);
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 9, 10), 0.002);
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 10, 10), 0.0021);
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 14, 10), 0.0025);
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 19, 10), 0.003);
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 29, 10), 0.004);
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 30, 10), 0.004);
}

TEST(LearningRate, OneRankNeedsNoWarmUp) {
  const RateRule rule{0.001, RateScaling::linear, 3};
  for (const int step : {0, 15, 29, 30}) {
    EXPECT_DOUBLE_EQ(learning_rate(rule, 1, step, 10), 0.001);
  }
}

TEST(LearningRate, WarmUpWithoutScalingStartsBelowTheBase) {
  const RateRule rule{0.001, RateScaling::none, 1};
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 4, 10), 0.001 * 0.25 * (0.5 * 3 + 1));
  EXPECT_DOUBLE_EQ(learning_rate(rule, 4, 10, 10), 0.001);
}

TEST(ResnetSchedule, IsTfCnnBenchmarks) {
  // 1024 images a step: 0.1 * 1024 / 256 = 0.4; 100 steps an epoch. The warm-up goes from 0 to 0.4
  // in 500 steps, and a step at a boundary still has the rate before it.
  const RateRule rule{.base = 0.1, .schedule = RateSchedule::resnet, .global_batch = 1024};
  const auto rate = [&](std::int64_t step) { return learning_rate(rule, 8, step, 100); };
  EXPECT_DOUBLE_EQ(rate(0), 0);
  EXPECT_DOUBLE_EQ(rate(1), 0.4 / 500);
  EXPECT_DOUBLE_EQ(rate(250), 0.2);
  EXPECT_DOUBLE_EQ(rate(499), 0.4 * 499 / 500);
  EXPECT_DOUBLE_EQ(rate(500), 0.4);
  EXPECT_DOUBLE_EQ(rate(3000), 0.4);
  EXPECT_DOUBLE_EQ(rate(3001), 0.04);
  EXPECT_DOUBLE_EQ(rate(6000), 0.04);
  EXPECT_DOUBLE_EQ(rate(6001), 0.004);
  EXPECT_DOUBLE_EQ(rate(8001), 0.0004);
  EXPECT_DOUBLE_EQ(rate(9000), 0.0004);
  EXPECT_DOUBLE_EQ(rate(9001), 0.00004);
}

TEST(ResnetSchedule, DependsOnTheBatchAndNotOnTheRanks) {
  const RateRule rule{.base = 0.1, .schedule = RateSchedule::resnet, .global_batch = 256};
  for (const int ranks : {1, 4}) EXPECT_DOUBLE_EQ(learning_rate(rule, ranks, 700, 100), 0.1);
}

}  // namespace
}  // namespace scalebench
