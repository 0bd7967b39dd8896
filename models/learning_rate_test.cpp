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

}  // namespace
}  // namespace scalebench
