// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/repetition_plan.hpp"

#include <gtest/gtest.h>

namespace scalebench {
namespace {

TEST(RepetitionPlan, RepeatsOperationsThatAreTooShortForTheClock) {
  EXPECT_EQ(operations_to_outlast_clock(1.0, 55e-9), 1U);
  EXPECT_EQ(operations_to_outlast_clock(1.2e-6, 55e-9), 1U) << "4.6 %";
  EXPECT_EQ(operations_to_outlast_clock(1.0e-6, 55e-9), 2U) << "5.5 %";
  EXPECT_EQ(operations_to_outlast_clock(0.1e-6, 55e-9), 11U);
  EXPECT_EQ(operations_to_outlast_clock(0, 55e-9), 1000U);
}

TEST(RepetitionPlan, DecidesAfterTensThenAfterTenths) {
  const StopRule rule;
  EXPECT_EQ(repetitions_to_decision(rule, 0, 1e-6), 10U);
  EXPECT_EQ(repetitions_to_decision(rule, 90, 1e-6), 10U);
  EXPECT_EQ(repetitions_to_decision(rule, 2000, 1e-6), 200U);
  EXPECT_EQ(repetitions_to_decision(rule, 4990, 1e-6), 10U) << "the cap is kept";
}

TEST(RepetitionPlan, DecidesMoreOftenWhereRepetitionsAreLong) {
  const StopRule rule;
  EXPECT_EQ(repetitions_to_decision(rule, 0, 0.1), 5U);
  EXPECT_EQ(repetitions_to_decision(rule, 0, 10), 1U);
}

TEST(RepetitionPlan, KeepsAFixedCount) {
  StopRule rule;
  rule.fixed = 13;
  EXPECT_EQ(repetitions_to_decision(rule, 0, 1e-6), 10U);
  EXPECT_EQ(repetitions_to_decision(rule, 10, 1e-6), 3U);
}

}  // namespace
}  // namespace scalebench
