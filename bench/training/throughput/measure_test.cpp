// SPDX-License-Identifier: Apache-2.0
#include "bench/training/throughput/measure.hpp"

#include <gtest/gtest.h>

namespace scalebench {
namespace {

BatchSearch search(std::int64_t limit, std::int64_t most, std::int64_t first = 32) {
  return largest_batch(first, most, [=](std::int64_t batch) { return batch <= limit; });
}

TEST(LargestBatch, DoublesThenBisectsToASixteenth) {
  const BatchSearch found = search(777, 60000);
  EXPECT_EQ(found.tried, "32 64 128 256 512 1024! 768 896! 832! 800!");
  EXPECT_EQ(found.largest, 768);
  EXPECT_FALSE(found.all_fit);
}

TEST(LargestBatch, FindsItWithinASixteenthWhereverItIs) {
  for (std::int64_t limit = 1; limit < 5000; ++limit) {
    const std::int64_t largest = search(limit, 60000).largest;
    ASSERT_LE(largest, limit);
    ASSERT_LT(limit - largest, std::max<std::int64_t>(1, limit / 15 + 1)) << limit;
  }
}

TEST(LargestBatch, HalvesWhereTheFirstDoesNotFit) {
  EXPECT_EQ(search(5, 60000).tried, "32! 16! 8! 4 6! 5");
  EXPECT_EQ(search(1, 60000).tried, "32! 16! 8! 4! 2! 1");
}

TEST(LargestBatch, NothingFits) {
  const BatchSearch found = search(0, 60000);
  EXPECT_EQ(found.largest, 0);
  EXPECT_EQ(found.tried, "32! 16! 8! 4! 2! 1!");
}

TEST(LargestBatch, StopsAtTheDataSet) {
  const BatchSearch found = search(1 << 20, 100);
  EXPECT_EQ(found.tried, "32 64 100");
  EXPECT_EQ(found.largest, 100);
  EXPECT_TRUE(found.all_fit);
  EXPECT_EQ(search(1 << 20, 7).largest, 7);
}

constexpr std::size_t kMiB = 1 << 20;

TEST(MemoryLimit, CountsWhatTheProcessHasGrownBy) {
  const MemoryLimit limit({}, 128 * kMiB);
  EXPECT_EQ(limit.exceeded(), "");
  {
    const std::vector<char> within(64 * kMiB);
    EXPECT_EQ(limit.exceeded(), "");
    const std::vector<char> beyond(128 * kMiB);
    EXPECT_NE(limit.exceeded().find("of the 134217728 that are allowed"), std::string::npos);
  }
  EXPECT_EQ(limit.exceeded(), "");
}

TEST(MemoryLimit, NoneIsNeverExceeded) {
  const MemoryLimit none({}, 0);
  const std::vector<char> much(512 * kMiB);
  EXPECT_EQ(none.exceeded(), "");
}

}  // namespace
}  // namespace scalebench
