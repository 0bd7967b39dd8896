// SPDX-License-Identifier: Apache-2.0
#include "models/epoch_rule.hpp"

#include <gtest/gtest.h>

#include "models/expect_error.hpp"
#include "models/sampler.hpp"

namespace scalebench {
namespace {

TEST(SeedRule, CountsStepsAsTheDocumentsDo) {
  EXPECT_EQ(seed_steps_per_epoch("mlp", 1), 6000);
  EXPECT_EQ(seed_steps_per_epoch("mlp", 2), 6000);
  EXPECT_EQ(seed_steps_per_epoch("mnist_cnn", 1), 500);
  EXPECT_EQ(seed_steps_per_epoch("mnist_cnn", 3), 166);
  EXPECT_EQ(seed_steps_per_epoch("mnist_cnn", 16), 31);
  EXPECT_EQ(seed_steps_per_epoch("mnist_cnn", 500), 1);
}

TEST(SeedRule, RefusesWhatHasNone) {
  expect_error([] { seed_steps_per_epoch("resnet20", 1); }, {"resnet20", "mlp", "mnist_cnn"});
  expect_error([] { seed_steps_per_epoch("mnist_cnn", 501); }, {"501 workers", "at most 500"});
}

TEST(SeedRule, IsThreePassesAndAFifthOnTwoWorkers) {
  std::vector<int> seen(60'000, 0);
  std::int64_t samples = 0;
  for (int rank = 0; rank < 2; ++rank) {
    const Sampler sampler({60'000, 0, 16, 2, rank, 1, seed_steps_per_epoch("mlp", 2)});
    EXPECT_EQ(sampler.steps_per_epoch(), 6000);
    samples += sampler.samples_per_epoch();
    for (const std::int64_t index : sampler.epoch(0)) ++seen[static_cast<std::size_t>(index)];
  }
  EXPECT_EQ(samples, 192'000);  // 3.2 * 60 000
  std::int64_t four_times = 0;
  for (const int times : seen) {
    EXPECT_TRUE(times == 3 || times == 4) << times;
    four_times += times == 4 ? 1 : 0;
  }
  EXPECT_EQ(four_times, 12'000);
}

}  // namespace
}  // namespace scalebench
