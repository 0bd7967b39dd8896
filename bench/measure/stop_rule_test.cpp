// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/stop_rule.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace scalebench {
namespace {

TEST(StopRule, StopsAtANarrowIntervalFromThirtyOn) {
  const StopRule rule;
  EXPECT_FALSE(rule.decide(std::vector<double>(29, 1.0), 0.1).stop);
  const auto decision = rule.decide(std::vector<double>(30, 1.0), 0.1);
  EXPECT_TRUE(decision.stop);
  EXPECT_TRUE(decision.converged);
}

TEST(StopRule, StopsAtItsCapsWithoutClaimingConvergence) {
  std::vector<double> wide;
  for (int i = 0; i < 40; ++i) wide.push_back(i % 2 == 0 ? 1.0 : 2.0);
  const StopRule rule;
  EXPECT_FALSE(rule.decide(wide, 1.0).stop);
  const auto capped = rule.decide(wide, 5.0);
  EXPECT_TRUE(capped.stop);
  EXPECT_FALSE(capped.converged);
}

TEST(StopRule, FixedCountIsExact) {
  StopRule rule;
  rule.fixed = 3;
  EXPECT_FALSE(rule.decide(std::vector<double>(2, 1.0), 99).stop);
  const auto decision = rule.decide(std::vector<double>(3, 1.0), 0);
  EXPECT_TRUE(decision.stop);
  EXPECT_FALSE(decision.converged) << "three samples have no interval";
}

}  // namespace
}  // namespace scalebench
