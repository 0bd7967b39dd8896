// SPDX-License-Identifier: Apache-2.0
#include "bench/study/prediction_profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace scalebench {
namespace {

StepProfile profile() {
  StepProfile made;
  made.batch = 32;
  made.layers = {{0.010, 0.020, {9408}}, {0.030, 0.040, {4096, 64}}, {0.005, 0.015, {}}};
  made.load_seconds = 0.004;
  made.update_seconds = 0.006;
  made.host_seconds = 0.002;
  made.step_seconds = {0.130, 0.132, 0.140};
  return made;
}

TEST(StepProfile, SumsItsParts) {
  EXPECT_NEAR(profile().forward_seconds(), 0.045, 1e-15);
  EXPECT_NEAR(profile().backward_seconds(), 0.075, 1e-15);
  EXPECT_NEAR(profile().seconds(), 0.132, 1e-15);
  EXPECT_EQ(profile().gradients(), 13568);
  EXPECT_NEAR(stretched(profile(), 3).seconds(), 0.396, 1e-15);
}

TEST(WithBatch, IsProportionalButForTheUpdateAndTheHost) {
  const StepProfile half = with_batch(profile(), 16, {});
  EXPECT_EQ(half.batch, 16);
  EXPECT_NEAR(half.forward_seconds(), 0.0225, 1e-15);
  EXPECT_NEAR(half.backward_seconds(), 0.0375, 1e-15);
  EXPECT_NEAR(half.load_seconds, 0.002, 1e-15);
  EXPECT_EQ(half.update_seconds, 0.006);
  EXPECT_EQ(half.host_seconds, 0.002);
  EXPECT_NEAR(half.step_seconds[1], 0.070, 1e-15);  // as a step of 0.132 s shrank to 0.070 s
}

TEST(WithBatch, FollowsMeasuredShares) {
  // t(b) = 0.4 + 0.6 b / 32 in units of a whole step: a quarter of the images takes 0.55 of it.
  const std::vector<BatchSeconds> measured{{16, 0.7}};
  EXPECT_NEAR(with_batch(profile(), 8, measured).seconds(), 0.132 * 0.55, 1e-12);
  EXPECT_NEAR(with_batch(profile(), 32, measured).seconds(), 0.132, 1e-12);
}

TEST(ExpectedLongest, IsTheMeanOverAllDraws) {
  const std::vector<double> samples{5, 1, 2, 9, 2};
  for (int ranks = 1; ranks <= 3; ++ranks) {
    double sum = 0;
    const auto draws = static_cast<std::size_t>(std::lround(std::pow(samples.size(), ranks)));
    for (std::size_t draw = 0; draw < draws; ++draw) {
      double longest = 0;
      std::size_t left = draw;
      for (int rank = 0; rank < ranks; ++rank, left /= samples.size()) {
        longest = std::max(longest, samples[left % samples.size()]);
      }
      sum += longest;
    }
    EXPECT_NEAR(expected_longest(samples, ranks), sum / static_cast<double>(draws), 1e-12);
  }
  EXPECT_TRUE(std::isnan(expected_longest({}, 2)));
}

}  // namespace
}  // namespace scalebench
