// SPDX-License-Identifier: Apache-2.0
// Numbers worked out by hand, the example of a paper, and the limit of each test against trying it
// out.
#include "bench/measure/multiple_testing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace scalebench {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

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
}  // namespace scalebench
