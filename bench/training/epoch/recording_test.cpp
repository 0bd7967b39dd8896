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
