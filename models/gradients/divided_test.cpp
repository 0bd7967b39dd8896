// SPDX-License-Identifier: Apache-2.0
#include "models/gradients/divided.hpp"

#include <gtest/gtest.h>

#include "models/testing.hpp"

namespace scalebench {
namespace {

TEST(Placement, PutsTheLargestFirstWhereLeastIs) {
  // The variables of mlp: nearly all of it is one matrix, which cannot be divided.
  const std::vector<std::int64_t> mlp{100352, 128, 7680, 60, 600, 10};
  EXPECT_EQ(placed_on_servers(mlp, 1), (std::vector<int>{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(placed_on_servers(mlp, 2), (std::vector<int>{0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(placed_on_servers(mlp, 3), (std::vector<int>{0, 2, 1, 2, 2, 2}));
  const std::vector<std::int64_t> equal{5, 5, 5, 5};
  EXPECT_EQ(placed_on_servers(equal, 2), (std::vector<int>{0, 1, 0, 1}));
}

TEST(Placement, CutsWhereTheCostliestStageIsCheapest) {
  const std::vector<double> costs{4, 1, 1, 1, 5};
  EXPECT_EQ(cut_into_stages(costs, 1), (std::vector<std::size_t>{0, 5}));
  const auto two = cut_into_stages(costs, 2);
  ASSERT_EQ(two.size(), 3U);
  EXPECT_EQ(two[1], 3U);
  EXPECT_EQ(cut_into_stages(costs, 3), (std::vector<std::size_t>{0, 1, 4, 5}));
  EXPECT_EQ(cut_into_stages(costs, 5), (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  expect_error([&] { cut_into_stages(costs, 6); }, {"5 layers", "6 ranks", "at most 5"});
}

}  // namespace
}  // namespace scalebench
