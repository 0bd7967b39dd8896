// SPDX-License-Identifier: Apache-2.0
#include "bench/study/prediction/step.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/error.hpp"

namespace scalebench::step_test {
namespace {

StepProfile profile() {
  StepProfile made;
  made.batch = 32;
  made.layers = {
      {"", 0.010, 0.020, {9408}}, {"", 0.030, 0.040, {4096, 64}}, {"", 0.005, 0.015, {}}};
  made.load_seconds = 0.004;
  made.update_seconds = 0.006;
  made.host_seconds = 0.002;
  made.step_seconds = {0.130, 0.132, 0.140};
  return made;
}

TEST(Stretched, IsLongerInEveryPart) {
  EXPECT_NEAR(stretched(profile(), 3).seconds(), 0.396, 1e-15);
}

TEST(WithBatch, IsProportionalButForTheUpdateAndTheHost) {
  const StepProfile half = with_batch(profile(), 16, {});
  EXPECT_EQ(half.batch, 16);
  EXPECT_NEAR(half.forward_seconds(), 0.0225, 1e-15);
  EXPECT_NEAR(half.backward_seconds(), 0.0375, 1e-15);
  EXPECT_NEAR(half.load_seconds, 0.002, 1e-15);
  EXPECT_EQ(half.update_seconds, 0.006);
  EXPECT_EQ(half.host_seconds, 0.002);
  EXPECT_NEAR(half.step_seconds[1], 0.070, 1e-15);  // as a step of 0.132 s shrank to 0.070 s
}

TEST(WithBatch, FollowsMeasuredShares) {
  // t(b) = 0.4 + 0.6 b / 32 in units of a whole step: a quarter of the images takes 0.55 of it.
  const std::vector<BatchSeconds> measured{{16, 0.7}};
  EXPECT_NEAR(with_batch(profile(), 8, measured).seconds(), 0.132 * 0.55, 1e-12);
  EXPECT_NEAR(with_batch(profile(), 32, measured).seconds(), 0.132, 1e-12);
}

TEST(ExpectedLongest, IsTheMeanOverAllDraws) {
  const std::vector<double> samples{5, 1, 2, 9, 2};
  for (int ranks = 1; ranks <= 3; ++ranks) {
    double sum = 0;
    const auto draws = static_cast<std::size_t>(std::lround(std::pow(samples.size(), ranks)));
    for (std::size_t draw = 0; draw < draws; ++draw) {
      double longest = 0;
      std::size_t left = draw;
      for (int rank = 0; rank < ranks; ++rank, left /= samples.size()) {
        longest = std::max(longest, samples[left % samples.size()]);
      }
      sum += longest;
    }
    EXPECT_NEAR(expected_longest(samples, ranks), sum / static_cast<double>(draws), 1e-12);
  }
  EXPECT_TRUE(std::isnan(expected_longest({}, 2)));
}

}  // namespace

// Each strategy's formula against numbers worked out by hand: three layers, an allreduce of
// 10 ms and 1 ms for each 100 000 bytes.

namespace {

constexpr double kEnough = 1e-12;

StepInputs inputs(int ranks) {
  StepInputs in;
  in.profile.batch = 8;
  // Backward: the third layer's 300 000 gradients after 20 ms, the second's after 50, the rest 100.
  in.profile.layers = {{"", 0.010, 0.050, {25'000}},
                       {"", 0.020, 0.030, {100'000, 50'000}},
                       {"", 0.030, 0.020, {300'000}}};
  in.profile.load_seconds = 0.003;
  in.profile.update_seconds = 0.008;
  in.profile.host_seconds = 0.001;
  in.at = {ranks, 1};
  in.allreduce_seconds = [](double bytes) { return 0.010 + bytes * 1e-8; };
  return in;
}

constexpr double kAlone = 0.003 + 0.060 + 0.100 + 0.008 + 0.001;  // a step of one rank

TEST(StepOf, OneAllreduceAfterTheBackwardPass) {
  for (const char* name : {"mirrored", "multi_worker", "balanced_shards"}) {
    const PredictedStep times = step_of(name, inputs(4));
    EXPECT_NEAR(times.seconds(), kAlone + 0.029, kEnough) << name;
    EXPECT_NEAR(times.exposed_seconds, 0.029, kEnough);
    EXPECT_NEAR(times.compute_seconds, 0.168, kEnough);
    EXPECT_EQ(times.hidden_seconds, 0);
  }
}

TEST(StepOf, OneAllreduceForEachParameter) {
  EXPECT_NEAR(step_of("naive", inputs(2)).exposed_seconds, 4 * 0.010 + 0.019, kEnough);
}

TEST(StepOf, ShardsDivideTheUpdate) {
  EXPECT_NEAR(step_of("zero1", inputs(4)).seconds(), kAlone + 0.029 - 0.008 + 0.002, kEnough);
}

TEST(BucketsOf, AreFilledFromTheLastParameterOn) {
  // Beyond 1 MiB with the first parameter: the first bucket is full at once.
  const auto usual = buckets_of(inputs(2).profile, 25.0 * (1 << 20));
  ASSERT_EQ(usual.size(), 2U);
  EXPECT_EQ(usual[0].elements, 300'000);
  EXPECT_NEAR(usual[0].ready_seconds, 0.020, kEnough);
  EXPECT_EQ(usual[1].elements, 175'000);
  EXPECT_NEAR(usual[1].ready_seconds, 0.100, kEnough);
  const auto small = buckets_of(inputs(2).profile, 500'000);
  ASSERT_EQ(small.size(), 3U);
  EXPECT_EQ(small[1].elements, 150'000);  // 50 000 and 100 000, together beyond 500 000 bytes
  EXPECT_NEAR(small[1].ready_seconds, 0.050, kEnough);
}

TEST(StepOf, BucketsHideUnderTheBackwardPass) {
  StepInputs in = inputs(2);
  in.choices.bucket_bytes = 500'000;
  // Ready at 20, 50, 100 ms; 22, 16 and 11 ms long: the last one is exposed.
  PredictedStep times = step_of("bucketed_overlap", in);
  EXPECT_NEAR(times.exposed_seconds, 0.011, kEnough);
  EXPECT_NEAR(times.hidden_seconds, 0.038, kEnough);
  EXPECT_NEAR(times.seconds(), kAlone + 0.011, kEnough);
  // A slow network: 20 + 100, then 100 at 120, then 100 at 220: ends at 320, 220 after the pass.
  in.allreduce_seconds = [](double) { return 0.100; };
  times = step_of("bucketed_overlap", in);
  EXPECT_NEAR(times.exposed_seconds, 0.220, kEnough);
  EXPECT_NEAR(times.hidden_seconds, 0.080, kEnough);
  // Whatever the computing core carries itself takes as long as if nothing were hidden.
  in.overlap = 0;
  EXPECT_NEAR(step_of("bucketed_overlap", in).exposed_seconds, 0.300, kEnough);
  in.overlap = 0.5;
  EXPECT_NEAR(step_of("bucketed_overlap", in).exposed_seconds, 0.260, kEnough);
}

TEST(StepOf, HorovodAsksEveryCycle) {
  StepInputs in = inputs(2);
  in.choices.cycle_seconds = 0.040;
  in.allreduce_seconds = [](double bytes) { return bytes < 100 ? 0.001 : 0.010; };
  // Rounds at 40 (the third layer: done at 51), 80 (the second: at 91), 120 (the first: at 131).
  PredictedStep times = step_of("horovod", in);
  EXPECT_NEAR(times.exposed_seconds, 0.031, kEnough);
  EXPECT_NEAR(times.hidden_seconds, 3 * 0.011 - 0.031, kEnough);
  // Messages of at most 700 000 bytes: the second layer in one, the third larger than that alone.
  in.choices.fusion_bytes = 500'000;
  EXPECT_NEAR(step_of("horovod", in).exposed_seconds, 0.031, kEnough);
  in.choices.cycle_seconds = 0;  // asks without rest: 20 -> 31, 50 -> 61 -> 71, 100 -> 111
  EXPECT_NEAR(step_of("horovod", in).exposed_seconds, 0.011, kEnough);
}

TEST(HasFormula, OnlyWhereAnAllreduceCarriesTheGradients) {
  EXPECT_TRUE(has_formula("horovod"));
  for (const char* name : {"model_split", "ps_sync", "central_storage", "tpu"}) {
    EXPECT_FALSE(has_formula(name)) << name;
  }
}

}  // namespace

}  // namespace scalebench::step_test
