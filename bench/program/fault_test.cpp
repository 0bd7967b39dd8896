// SPDX-License-Identifier: Apache-2.0
// WHAT[=AMOUNT][:RANK][@WHEN], and what is refused of it.
#include "bench/program/fault.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/program/program.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Texts = std::vector<std::string>;

std::string refusal(const Texts& texts, InjectedInto program = InjectedInto::training) {
  return message_of<UsageError>([&] { Injections(texts, program, 2); });
}

TEST(Injections, HaveAnAmountARankAndAMoment) {
  const Injections both({"sleep=0.25:1", "kill:1@50", "delay=1e-3"}, InjectedInto::training, 2);
  ASSERT_NE(both.find(Injected::sleep), nullptr);
  EXPECT_EQ(both.find(Injected::sleep)->amount, 0.25);
  EXPECT_EQ(both.find(Injected::sleep)->rank, 1);
  EXPECT_EQ(both.amount(Injected::delay), 1e-3);
  EXPECT_EQ(both.amount(Injected::throttle), 0);
  EXPECT_EQ(both.find(Injected::stop), nullptr);
  ASSERT_NE(both.at_a_moment(), nullptr);
  EXPECT_EQ(both.at_a_moment()->rank, 1);
  EXPECT_EQ(both.at_a_moment()->when, 50);
  EXPECT_EQ(both.lasting(), "sleep=0.25:1 delay=1e-3");
  EXPECT_EQ(Injections({"drift=-50.5:1"}, InjectedInto::training, 2).amount(Injected::drift),
            -50.5);
  EXPECT_EQ(Injections().at_a_moment(), nullptr);
}

TEST(Injections, RefuseWhatIsNone) {
  EXPECT_THAT(refusal({"slep=1:1"}),
              AllOf(HasSubstr("--inject slep=1:1: valid: sleep=SECONDS:RANK"),
                    HasSubstr("kill:RANK@STEP")));
  EXPECT_THAT(refusal({"slower=0.1"}), HasSubstr("valid: sleep=SECONDS:RANK"));
  EXPECT_THAT(refusal({"kill:2@1"}), HasSubstr("kill:2@1: there are 2 rank(s)"));
  EXPECT_THAT(refusal({"stop:-1@1"}), HasSubstr("stop:-1@1: there are 2 rank(s)"));
  for (const char* text : {"kill", "kill:1", "kill:1@", "kill:@1", "kill:1@-1", "kill:1@x",
                           "kill:1@1.5", "kill@1:1", "kill:1@1 ", "kill=1:1@1", "kill1:1@1"}) {
    EXPECT_THAT(refusal({text}), HasSubstr("kill:RANK@STEP")) << text;
  }
  for (const char* text :
       {"delay", "delay=", "delay=x", "delay=0.1:1", "delay=nan", "delay=-1", "delay=3601"}) {
    EXPECT_THAT(refusal({text}), HasSubstr("valid: delay=SECONDS")) << text;
  }
  EXPECT_THAT(refusal({"delay=3601"}), HasSubstr("from 0 to 3600"));
  EXPECT_THAT(refusal({"kill:1@1", "stop:1@1"}), HasSubstr("give one"));
  EXPECT_THAT(refusal({"delay=1", "delay=2"}), HasSubstr("give one"));
  EXPECT_EQ(refusal({"delay=1", "throttle=2"}), "");
}

TEST(MomentFault, StrikesARankInOneCase) {
  const auto of = [](const char* text) {
    return MomentFault(Injections({text}, InjectedInto::allreduce, 2));
  };
  EXPECT_TRUE(of("hang:1").strikes(3, 1));
  EXPECT_FALSE(of("hang:1").strikes(3, 0));
  EXPECT_FALSE(of("hang:1@2").strikes(3, 1));
  EXPECT_TRUE(of("kill:0@0").strikes(0, 0));
  EXPECT_FALSE(MomentFault().strikes(0, 0));
  EXPECT_NO_THROW(MomentFault().require_reached(0));
  EXPECT_NO_THROW(of("kill:0@4").require_reached(4));
  EXPECT_THAT(message_of<JointRefusal>([&] { of("wrong=2:1").require_reached(1); }),
              HasSubstr("wrong=2:1: would never come, number 1 is the last"));
  for (const char* text :
       {"wrong:1@0", "wrong=0:1", "hang=1:1", "hang:1@-1", "slower", "slower=11", "slower=0.1:1"}) {
    EXPECT_THAT(refusal({text}, InjectedInto::allreduce), Not("")) << text;
  }
}

}  // namespace
}  // namespace scalebench
