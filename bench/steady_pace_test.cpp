// SPDX-License-Identifier: Apache-2.0
// By a clock of the test's own, on which sleeping takes longer than asked for.
#include "bench/steady_pace.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace scalebench {
namespace {

class SteadyPaceTest : public testing::Test {
 protected:
  /// Work that takes so long.
  std::function<void()> work(double seconds) {
    return [this, seconds] { now_ += seconds; };
  }
  double now_ = 100;
  double oversleep_ = 0;
  std::vector<double> slept_;
  SteadyPace pace_{[this] { return now_; },
                   [this](double seconds) {
                     slept_.push_back(seconds);
                     now_ += seconds + oversleep_;
                   }};
};

TEST_F(SteadyPaceTest, SleepsForWhatTheWorkLeaves) {
  pace_.last(4, work(1));
  EXPECT_EQ(slept_, (std::vector<double>{3}));
  EXPECT_EQ(now_, 104);
  EXPECT_EQ(pace_.asked_seconds(), 4);
  EXPECT_EQ(pace_.late_seconds(), 0);
}

TEST_F(SteadyPaceTest, TakesLatenessOffTheNextSleeps) {
  pace_.last(1, work(4));
  EXPECT_TRUE(slept_.empty());
  EXPECT_EQ(pace_.late_seconds(), 3);
  pace_.last(2, work(0));
  EXPECT_TRUE(slept_.empty());
  EXPECT_EQ(pace_.late_seconds(), 1);
  pace_.last(2, work(0.5));
  EXPECT_EQ(slept_, (std::vector<double>{0.5}));
  EXPECT_EQ(pace_.late_seconds(), 0);
  EXPECT_EQ(now_, 105) << "1 + 2 + 2 seconds from the begin";
}

TEST_F(SteadyPaceTest, KeepsTimeThoughEachSleepEndsLate) {
  oversleep_ = 0.25;
  for (int i = 0; i < 8; ++i) pace_.last(1, work(0));
  EXPECT_EQ(now_, 108.25) << "only the last is late";
  EXPECT_EQ(pace_.asked_seconds(), 8);
  EXPECT_EQ(text_of(pace_), "replayed 8.000000 s, 0.250000 s late");
}

TEST(SteadyPace, NeverEndsEarlyByTheRealClock) {
  SteadyPace pace;
  int done = 0;
  const double begin = local_seconds();
  for (int i = 0; i < 10; ++i) pace.last(1e-4, [&] { ++done; });
  EXPECT_EQ(done, 10);
  EXPECT_GE(local_seconds() - begin, 0.999e-3);
}

}  // namespace
}  // namespace scalebench
