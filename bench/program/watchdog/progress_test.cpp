// SPDX-License-Identifier: Apache-2.0
#include "bench/program/watchdog/progress.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace scalebench {
namespace {

TEST(ProgressMarks, OfOneThatWaitsHaveTheLimitOfASpan) {
  ProgressMarks marks;
  CallMarks& calls = marks.calls();
  const RankProgress before = marks.read();
  {
    const CallMarks::Call call(&calls);
    EXPECT_EQ(marks.read().limit_seconds, 25);
    EXPECT_FALSE(marks.read().shows_life());
  }
  {
    const CallMarks::Call longer(&calls, std::size_t{1} << 30U);
    { const CallMarks::Call inner(&calls); }
    EXPECT_GT(marks.read().limit_seconds, 100) << "a message that takes its time";
    marks.cell("cell");
    EXPECT_EQ(marks.read().limit_seconds, 25);
    marks.end_cell();
  }
  EXPECT_EQ(marks.read().limit_seconds, 250);
  EXPECT_FALSE(marks.read().stands_still_since(before)) << "a call is progress";
  std::thread([&] {
    const CallMarks::Call of_another(&calls);
    EXPECT_EQ(marks.read().limit_seconds, 250) << "threads that move gradients do not count";
  }).join();
}

TEST(ProgressMarks, AnOperationThatWasNotLeftIsOverWithTheNext) {
  ProgressMarks marks;
  marks.enter();
  marks.enter();
  EXPECT_EQ(marks.read().moves, 3U) << "inside the second";
  marks.leave();
  marks.leave();
  EXPECT_EQ(marks.read().moves, 4U);
}

TEST(ProgressMarks, HaveALimitForEveryStage) {
  ProgressMarks marks;
  const auto limit = [&] { return marks.read().limit_seconds; };
  EXPECT_EQ(limit(), 250) << "before the first cell";
  marks.cell("cell");
  EXPECT_EQ(limit(), 25);
  marks.expect(1);
  EXPECT_EQ(limit(), 100);
  marks.expect(0.1);
  EXPECT_EQ(limit(), 25);
  marks.end_cell();
  EXPECT_EQ(limit(), 250);
  marks.work("work");
  EXPECT_EQ(limit(), 250);
  marks.expect(1);
  EXPECT_EQ(limit(), 250) << "what takes long makes no limit shorter";
  marks.expect(10);
  EXPECT_EQ(limit(), 1000);
  marks.span("span");
  EXPECT_EQ(limit(), 25);
}

TEST(ProgressMarks, OfALimitThatIsAskedForDoNotStretch) {
  ProgressMarks marks;
  marks.set_patience({3, /*stretches=*/false});
  EXPECT_EQ(marks.read().limit_seconds, 30);
  marks.cell("cell");
  marks.expect(1);
  EXPECT_EQ(marks.read().limit_seconds, 3);
}

}  // namespace
}  // namespace scalebench
