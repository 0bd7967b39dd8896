// SPDX-License-Identifier: Apache-2.0
// Every instant of a step is in exactly one interval.
#include "bench/training/epoch/recording.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

/// Mark after mark comes 1, 2, 4, 8 ... seconds later: each sum says which intervals are in it.
class LayerClockTest : public testing::Test {
 protected:
  double now_ = 0;
  double next_ = 1;
  LayerClock clock_{[this] {
    const double at = now_;
    now_ += next_;
    next_ *= 2;
    return at;
  }};
};

TEST_F(LayerClockTest, DividesAStepByItsMarks) {
  clock_.begin_step();            // 1
  clock_.enter(Phase::load);      // 2
  clock_.enter(Phase::forward);   // 4
  clock_.forward_done(0);         // 8
  clock_.forward_done(1);         // 16
  clock_.forward_done(2);         // 32: the loss
  clock_.enter(Phase::backward);  // 64
  clock_.gradient_done(2);        // 128: layer 1 has no parameters
  clock_.gradient_done(0);        // 256
  clock_.gradient_done(0);        // 512: back to the images
  clock_.enter(Phase::sync);      // 1024
  clock_.enter(Phase::update);    // 2048
  clock_.enter(Phase::other);
  const TimedStep times = clock_.step(3);
  EXPECT_EQ(times.load, 2);
  EXPECT_EQ(times.forward, (std::vector<double>{4, 8, 16 + 32}));
  EXPECT_EQ(times.backward, (std::vector<double>{128 + 256 + 512, 0, 64}));
  EXPECT_EQ(times.update, 2048);
  EXPECT_EQ(times.host, 1 + 1024);
  const auto sum = [](const std::vector<double>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0);
  };
  EXPECT_EQ(times.load + sum(times.forward) + sum(times.backward) + times.update + times.host,
            times.end - times.begin);
}

TEST_F(LayerClockTest, OfAStepWithoutMarksKnowsTheWhole) {
  clock_.enter(Phase::load);  // of an epoch, before its first step
  clock_.begin_step();
  clock_.enter(Phase::load);
  clock_.enter(Phase::forward);
  clock_.enter(Phase::backward);
  clock_.enter(Phase::other);
  const TimedStep times = clock_.step(0);
  EXPECT_EQ(times.end - times.begin, 2 + 4 + 8 + 16);
  EXPECT_EQ(times.load, 4);
  EXPECT_EQ(times.host, 2 + 8 + 16);
  EXPECT_TRUE(times.forward.empty());
}

TEST_F(LayerClockTest, RefusesAStepThatHasNotEnded) {
  clock_.begin_step();
  EXPECT_THROW(clock_.step(0), Error);
  clock_.enter(Phase::other);
  EXPECT_NO_THROW(clock_.step(0));
  clock_.forget();
  EXPECT_THROW(clock_.step(0), Error);
}

}  // namespace

// By a clock of the test's own, on which sleeping takes longer than asked for.

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

TEST_F(SteadyPaceTest, LeavesTheNextEpochItsTime) {
  pace_.last(1, work(4));
  pace_.begin_epoch();
  pace_.last(2, work(0.5));
  EXPECT_EQ(slept_, (std::vector<double>{1.5}));
  EXPECT_EQ(pace_.late_seconds(), 3) << "as this rank is";
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

TEST(RecordTrace, IsRefusedBeforeTrainingWhereItCannotBeWritten) {
  const TemporaryFolder folder;
  EpochOptions options;
  require_trace_file(options);
  options.training.record.out = folder.path();
  options.record_trace = "trace.json";
  require_trace_file(options);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing is left of the trial";
  options.record_trace = folder.path() / "no" / "trace.json";
  const auto refusal = [&] { return message_of<UsageError>([&] { require_trace_file(options); }); };
  EXPECT_NE(refusal().find("--record-trace " + options.record_trace), std::string::npos);
  options.record_trace = folder.path() / ".";
  EXPECT_NE(refusal().find("is a folder"), std::string::npos) << refusal();
}

}  // namespace

}  // namespace scalebench
