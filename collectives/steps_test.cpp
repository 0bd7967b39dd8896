// SPDX-License-Identifier: Apache-2.0
// The two trees for every number of ranks up to 130: what their timetable promises.
#include "collectives/steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>

namespace scalebench {
namespace {

constexpr int kMostRanks = 130;

TEST(TwoTrees, EveryRankHangsInBothTreesAndIsInnerInOne) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    const TwoTrees trees(ranks);
    std::size_t edges[2]{};
    for (int rank = 0; rank < ranks; ++rank) {
      const auto down = trees.down(rank);
      ASSERT_LE(down.size(), 2U);
      EXPECT_TRUE(down.empty() || down.front().tree == down.back().tree) << ranks << " " << rank;
      for (const TreeLink& link : trees.up(rank)) {
        ++edges[link.tree];
        const auto below = trees.down(link.peer);
        EXPECT_TRUE(std::ranges::any_of(below,
                                        [&](const TreeLink& other) {
                                          return other.peer == rank && other.tree == link.tree &&
                                                 other.first_slot == link.first_slot;
                                        }))
            << "p=" << ranks << " rank " << rank << " is no child of its parent " << link.peer;
      }
    }
    // p - 1 edges and no slot before the children's: no circles.
    EXPECT_EQ(edges[0], static_cast<std::size_t>(ranks - 1));
    EXPECT_EQ(edges[1], static_cast<std::size_t>(ranks - 1));
  }
}

TEST(TwoTrees, NoRankSendsOrReceivesTwiceInASlot) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    const TwoTrees trees(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      for (const auto& links : {trees.up(rank), trees.down(rank)}) {
        std::set<std::size_t> parities;
        for (const TreeLink& link : links) parities.insert(link.first_slot % 2);
        EXPECT_EQ(parities.size(), links.size()) << "p=" << ranks << " rank " << rank;
      }
    }
  }
}

TEST(TwoTrees, SegmentsRiseFromChildrenFirstAndInTime) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    const TwoTrees trees(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      for (const TreeLink& below : trees.down(rank)) {
        EXPECT_LT(below.first_slot, trees.slots(1));
        for (const TreeLink& above : trees.up(rank)) {
          if (above.tree != below.tree) continue;
          EXPECT_FALSE(above.untouched);
          EXPECT_LT(below.first_slot, above.first_slot) << "p=" << ranks << " rank " << rank;
        }
      }
    }
    const auto depth = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks)));
    EXPECT_LE(trees.slots(1), 2 * depth + 2);
  }
}

}  // namespace
}  // namespace scalebench
