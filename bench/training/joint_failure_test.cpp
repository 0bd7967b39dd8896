// SPDX-License-Identifier: Apache-2.0
#include "bench/training/joint_failure.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace scalebench {
namespace {

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
