// SPDX-License-Identifier: Apache-2.0
#include "bench/program/crowding.hpp"

#include <gtest/gtest.h>

namespace scalebench {
namespace {

TEST(ShareCores, OfAMachineWithMoreRanksThanCores) {
  EXPECT_FALSE(share_cores({"a"}, {{0}}));
  EXPECT_FALSE(share_cores({"a", "a"}, {{0, 1}, {0, 1}})) << "not bound, but each has one";
  EXPECT_FALSE(share_cores({"a", "a"}, {{0}, {1}}));
  EXPECT_TRUE(share_cores({"a", "a", "a"}, {{0, 1}, {0, 1}, {0, 1}}));
  EXPECT_TRUE(share_cores({"a", "a", "a"}, {{0}, {1}, {0, 1}}));
}

TEST(ShareCores, WhereTheyAreLeftTheSameOneOfMany) {
  EXPECT_TRUE(share_cores({"a", "a"}, {{3}, {3}}));
  EXPECT_TRUE(share_cores({"a", "a", "a"}, {{3}, {3}, {4, 5, 6}})) << "others have more to spare";
}

TEST(ShareCores, WhereSomeAreLeftTooFewOfThem) {
  EXPECT_TRUE(share_cores({"a", "a", "a", "a"}, {{0}, {1}, {0, 1}, {2, 3}}));
  EXPECT_TRUE(share_cores({"a", "a", "a", "a", "a"}, {{0, 1}, {1, 2}, {0, 2}, {1, 2}, {3, 4, 5}}))
      << "of four on three cores none may use all three";
  EXPECT_FALSE(share_cores({"a", "a", "a"}, {{0, 1, 2}, {0, 1}, {0}})) << "if the first makes way";
}

TEST(ShareCores, OfTwoMachinesAreNotThoseOfOne) {
  EXPECT_FALSE(share_cores({"a", "b"}, {{0}, {0}}));
  EXPECT_TRUE(share_cores({"a", "b", "b"}, {{0, 1, 2}, {0}, {0}}));
}

}  // namespace
}  // namespace scalebench
