// SPDX-License-Identifier: Apache-2.0
#include "models/data/sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "models/testing.hpp"

namespace scalebench {
namespace {

using Indices = std::vector<std::int64_t>;

TEST(Shuffled, IsAPermutationThatDependsOnSeedAndEpoch) {
  const Indices order = shuffled(1000, 7, 0);
  EXPECT_EQ(std::set(order.begin(), order.end()).size(), 1000U);
  EXPECT_EQ(*std::min_element(order.begin(), order.end()), 0);
  EXPECT_EQ(*std::max_element(order.begin(), order.end()), 999);
  EXPECT_EQ(order, shuffled(1000, 7, 0));
  EXPECT_NE(order, shuffled(1000, 7, 1));
  EXPECT_NE(order, shuffled(1000, 8, 0));
}

TEST(Shuffled, IsTheSameEverywhere) {
  // From a second implementation, in Python, of the generators and the shuffle.
  EXPECT_EQ(shuffled(8, 1, 0), (Indices{5, 0, 1, 3, 7, 2, 4, 6}));
}

TEST(Shuffled, IsUniform) {
  // Where element 0 lands in 6000 shuffles of 6: each place 1000 times, sigma 29.
  Indices landed(6, 0);
  for (int epoch = 0; epoch < 6000; ++epoch) {
    const Indices order = shuffled(6, 3, epoch);
    ++landed[static_cast<std::size_t>(std::find(order.begin(), order.end(), 0) - order.begin())];
  }
  for (const std::int64_t times : landed) EXPECT_NEAR(static_cast<double>(times), 1000, 150);
}

TEST(Sampler, RanksPartitionEachGlobalBatchLikeOneRankWithTheWhole) {
  for (const int ranks : {1, 2, 3, 5}) {
    const std::int64_t batch = 4;
    const Sampler whole({1003, 0, batch * ranks, 1, 0, 9});
    const Indices expected = whole.epoch(2);
    for (int rank = 0; rank < ranks; ++rank) {
      const Sampler part({1003, 0, batch, ranks, rank, 9});
      ASSERT_EQ(part.steps_per_epoch(), whole.steps_per_epoch());
      EXPECT_EQ(part.samples_per_epoch(), part.steps_per_epoch() * batch);
      const Indices mine = part.epoch(2);
      ASSERT_EQ(static_cast<std::int64_t>(mine.size()), part.samples_per_epoch());
      for (std::int64_t step = 0; step < part.steps_per_epoch(); ++step) {
        const auto global = expected.begin() + (step * ranks + rank) * batch;
        EXPECT_TRUE(std::equal(global, global + batch, mine.begin() + step * batch));
      }
    }
  }
}

TEST(Sampler, NoImageTwiceInAnEpochAndThePartialBatchIsDropped) {
  const Sampler sampler({103, 0, 10, 1, 0, 1});
  EXPECT_EQ(sampler.steps_per_epoch(), 10);
  const Indices mine = sampler.epoch(0);
  EXPECT_EQ(std::set(mine.begin(), mine.end()).size(), 100U);
}

TEST(Sampler, LimitTakesOtherImagesEachEpoch) {
  const Sampler sampler({1000, 105, 10, 2, 1, 1});
  EXPECT_EQ(sampler.steps_per_epoch(), 5);
  EXPECT_EQ(sampler.samples_per_epoch(), 50);
  EXPECT_NE(sampler.epoch(0), sampler.epoch(1));
}

TEST(Sampler, GoesRoundTheImagesWhenStepsAreGiven) {
  // 7 steps of 2 ranks x 3 images over 10 images: 4.2 passes, a step may lie in two of them.
  Indices all(42);
  for (int rank = 0; rank < 2; ++rank) {
    const Sampler sampler({10, 0, 3, 2, rank, 5, 7});
    EXPECT_EQ(sampler.steps_per_epoch(), 7);
    EXPECT_EQ(sampler.samples_per_epoch(), 21);
    const Indices mine = sampler.epoch(1);
    ASSERT_EQ(mine.size(), 21U);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      all[(i / 3 * 2 + static_cast<std::size_t>(rank)) * 3 + i % 3] = mine[i];
    }
  }
  for (std::size_t pass = 0; pass < 4; ++pass) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(10 * pass);
    EXPECT_EQ(std::set(first, first + 10).size(), 10U) << "pass " << pass;
  }
  EXPECT_TRUE(std::equal(all.begin(), all.begin() + 10, shuffled(10, 5, 1).begin()));
  EXPECT_FALSE(std::equal(all.begin(), all.begin() + 10, all.begin() + 10)) << "another order";
}

TEST(Sampler, TakesFewerStepsThanThereAreImages) {
  const Sampler sampler({1000, 0, 10, 1, 0, 1, 3});
  EXPECT_EQ(sampler.samples_per_epoch(), 30);
  const Indices whole = Sampler({1000, 0, 10, 1, 0, 1}).epoch(0);
  EXPECT_EQ(sampler.epoch(0), Indices(whole.begin(), whole.begin() + 30));
}

TEST(Sampler, RefusesWhatHasNoStep) {
  expect_error([] { Sampler({100, 0, 60, 2, 0, 1}); }, {"100", "2 ranks x batch 60 = 120"});
  expect_error([] { Sampler({100, 20, 30, 1, 0, 1}); }, {"20", "30"});
  expect_error([] { Sampler({100, 101, 1, 1, 0, 1}); }, {"101", "1 to 100"});
  expect_error([] { Sampler({100, -1, 1, 1, 0, 1}); }, {"-1"});
  expect_error([] { Sampler({100, 0, 0, 1, 0, 1}); }, {"batch per rank 0"});
}

TEST(BatchPerRank, DividesOrNamesTheNearest) {
  EXPECT_EQ(batch_per_rank(128, 4), 32);
  expect_error([] { batch_per_rank(128, 3); }, {"128", "3 ranks", "126 or 129"});
  expect_error([] { batch_per_rank(2, 3); }, {"nearest that does: 3"});
  expect_error([] { batch_per_rank(0, 3); }, {"at least 1"});
}

}  // namespace
}  // namespace scalebench
