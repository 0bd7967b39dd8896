// SPDX-License-Identifier: Apache-2.0
// RANK@STEP, and what is refused of it.
#include "bench/program/fault.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;

std::string refusal(const StepFaultWords& words) {
  return message_of<UsageError>([&] { step_fault_of(words, 2); });
}

TEST(StepFault, IsARankAndAStep) {
  const StepFault kill = step_fault_of({"1@50", ""}, 2);
  EXPECT_EQ(kill.rank, 1);
  EXPECT_EQ(kill.step, 50);
  EXPECT_EQ(kill.participle(), "killed");
  EXPECT_EQ(step_fault_of({"", "0@0"}, 2).participle(), "stopped");
  EXPECT_LT(step_fault_of({}, 2).rank, 0);
}

TEST(StepFault, RefusesWhatIsNone) {
  EXPECT_THAT(refusal({"2@1", ""}), HasSubstr("--kill-rank 2@1: there are 2 rank(s)"));
  EXPECT_THAT(refusal({"", "-1@1"}), HasSubstr("--stop-rank -1@1: there are 2 rank(s)"));
  for (const char* text : {"1", "1@", "@1", "1@-1", "1@x", "1@1.5", "1:50", "1@1 "}) {
    EXPECT_THAT(refusal({text, ""}), HasSubstr("RANK@STEP")) << text;
  }
  EXPECT_THAT(refusal({"1@1", "1@1"}), HasSubstr("give one"));
}

}  // namespace
}  // namespace scalebench
