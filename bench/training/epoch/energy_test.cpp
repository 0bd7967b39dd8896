// SPDX-License-Identifier: Apache-2.0
// Joules of made-up hosts, cards and epochs, with counters that cannot be read.
#include "bench/training/epoch/energy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

TEST(IsFirstOfMachine, OfHostsThatAreOneToo) {
  const auto who_asks = [](const std::vector<int>& nodes,
                           const std::vector<std::string>& boot_ids) {
    std::vector<bool> asks;
    for (int rank = 0; rank < std::ssize(nodes); ++rank) {
      asks.push_back(is_first_of_machine(rank, nodes, boot_ids));
    }
    return asks;
  };
  using testing::ElementsAre;
  EXPECT_THAT(who_asks({0, 0, 1, 1}, {"a", "a", "b", "b"}), ElementsAre(true, false, true, false));
  EXPECT_THAT(who_asks({0, 0, 1, 1}, {"a", "a", "a", "a"}), ElementsAre(true, false, false, false));
  EXPECT_THAT(who_asks({0, 0, 1, 1}, {"", "", "", ""}), ElementsAre(true, false, true, false));
}

TEST(SumOfEnergies, IsOfHostsAndCards) {
  EXPECT_EQ(sum_of({30}, {}).joules, 30);
  EXPECT_EQ(sum_of({30}, {}).lacks, "") << "nobody asked for a card";
  EXPECT_EQ(sum_of({30}, {700}).joules, 730);
  EXPECT_EQ(sum_of({30}, {700}).lacks, "");
}

TEST(SumOfEnergies, SaysWhatItIsWithout) {
  const CountedJoules unknown{kUnknown, "Permission denied"};
  EXPECT_EQ(sum_of(unknown, {700}).joules, 700);
  EXPECT_EQ(sum_of(unknown, {700}).lacks, "joules without hosts: Permission denied");
  EXPECT_EQ(sum_of({10}, unknown).joules, 10);
  EXPECT_EQ(sum_of({10}, unknown).lacks, "joules without cards: Permission denied");
  for (const CountedJoules& cards : {CountedJoules{}, unknown}) {
    EXPECT_TRUE(std::isnan(sum_of(unknown, cards).joules));
  }
}

TEST(TypicalEnergy, IsTheMedianOfEpochsThatAllKnowTheSame) {
  EXPECT_EQ(typical_energy({{50}, {70}}).joules, 60);
  EXPECT_TRUE(std::isnan(typical_energy({{50}, {kUnknown}}).joules));
  const EpochEnergy cards{300, "joules without hosts: forbidden"};
  EXPECT_EQ(typical_energy({cards, cards}).lacks, cards.lacks);
  EXPECT_TRUE(std::isnan(typical_energy({cards, {900}}).joules)) << "a card is not all";
}

}  // namespace
}  // namespace scalebench
