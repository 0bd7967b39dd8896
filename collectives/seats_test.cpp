// SPDX-License-Identifier: Apache-2.0
#include "collectives/seats.hpp"

#include <gtest/gtest.h>

namespace scalebench {
namespace {

/// By rank: numbers of cores, all of one machine.
bool too_few(const std::vector<std::vector<int>>& numbers) {
  std::vector<std::vector<Core>> cores;
  for (const std::vector<int>& of_rank : numbers) {
    auto& usable = cores.emplace_back();
    for (const int number : of_rank) usable.emplace_back(0, number);
  }
  return too_few_cores(cores);
}

TEST(TooFewCores, OfAMachineWithMoreRanksThanCores) {
  EXPECT_FALSE(too_few({{0}}));
  EXPECT_FALSE(too_few({{0, 1}, {0, 1}})) << "not bound, but each has one";
  EXPECT_FALSE(too_few({{0}, {1}}));
  EXPECT_TRUE(too_few({{0, 1}, {0, 1}, {0, 1}}));
  EXPECT_TRUE(too_few({{0}, {1}, {0, 1}}));
}

TEST(TooFewCores, WhereTheyAreLeftTheSameOneOfMany) {
  EXPECT_TRUE(too_few({{3}, {3}}));
  EXPECT_TRUE(too_few({{3}, {3}, {4, 5, 6}})) << "others have more to spare";
}

TEST(TooFewCores, WhereSomeAreLeftTooFewOfThem) {
  EXPECT_TRUE(too_few({{0}, {1}, {0, 1}, {2, 3}}));
  EXPECT_TRUE(too_few({{0, 1}, {1, 2}, {0, 2}, {1, 2}, {3, 4, 5}}))
      << "of four on three cores none may use all three";
  EXPECT_FALSE(too_few({{0, 1, 2}, {0, 1}, {0}})) << "if the first makes way";
}

TEST(TooFewCores, OfTwoMachinesAreNotThoseOfOne) {
  EXPECT_FALSE(too_few_cores({{{0, 0}}, {{1, 0}}}));
  EXPECT_TRUE(too_few_cores({{{0, 0}, {0, 1}}, {{1, 0}}, {{1, 0}}}));
}

}  // namespace
}  // namespace scalebench
