// SPDX-License-Identifier: Apache-2.0
#include "bench/study/losses.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

TEST(Losses, AreWhatIsMoreThanAnEqualPart) {
  const StateSeconds one{90, 0, 0, 0, 8, 0, 2};
  const StateSeconds two{50, 3, 4, 1, 6, 0.5, 1};
  const Losses losses = losses_of(one, 100, two, 65.5, 1, 2, 3);
  const StateSeconds expected{5, 3, 4, 1, 2, 0.5, 0};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_DOUBLE_EQ(losses.by_state[i], expected[i]) << kLossNames[i];
  }
  EXPECT_EQ(losses.work, 0);
  EXPECT_EQ(losses.batch, 3);
  EXPECT_EQ(losses.contention, 2);
  EXPECT_EQ(losses.unattributed, 0) << "both launches are those of the medians";
  EXPECT_DOUBLE_EQ(100 / 2.0 + losses.sum(), 65.5);
}

TEST(Losses, KeepNegativeOnesAndCountWork) {
  // Two ranks do 0.9 of the images, and smaller pieces fit the caches.
  const StateSeconds one{100, 0, 0, 0, 0, 0, 0};
  const StateSeconds two{40, 1, 0, 0, 0, 0, 0};
  const Losses losses = losses_of(one, 100, two, 41, 0.9, 2, kUnknown);
  EXPECT_DOUBLE_EQ(losses.work, -5);
  EXPECT_DOUBLE_EQ(losses.by_state[0], -5);
  EXPECT_TRUE(std::isnan(losses.contention)) << "not split";
  EXPECT_DOUBLE_EQ(50 + losses.sum(), 41);
}

TEST(Losses, ShowWhatTheMiddleLaunchDoesNotExplain) {
  const StateSeconds one{100, 0, 0, 0, 0, 0, 0};
  const StateSeconds two{51, 1, 0, 0, 0, 0, 0};
  const Losses losses = losses_of(one, 102, two, 53, 1, 2, kUnknown);
  EXPECT_DOUBLE_EQ(losses.unattributed, (53 - 52) - (102 - 100) / 2.0);
  EXPECT_DOUBLE_EQ(51 + losses.sum(), 53);
}

TEST(Losses, OfTheBatchAreThoseOfOneRankAlone) {
  EXPECT_DOUBLE_EQ(batch_loss(30, 100, 1, 4), 5);
  EXPECT_DOUBLE_EQ(batch_loss(30, 100, 1.2, 4), 0);
}

}  // namespace
}  // namespace scalebench
