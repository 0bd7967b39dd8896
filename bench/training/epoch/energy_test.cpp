// SPDX-License-Identifier: Apache-2.0
// Joules of made-up hosts, cards and epochs, with counters that cannot be read.
#include "bench/training/epoch/energy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace scalebench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

RankEnergy host(double joules, const std::string& why = "") {
  return {.host = true, .card = false, .energy = {joules, why, {}, ""}};
}

RankEnergy card(double joules, const std::string& why = "") {
  return {.host = false, .card = true, .energy = {{}, "", joules, why}};
}

/// Neither first of its host nor of its card.
const RankEnergy kAskedForNothing{.host = false, .card = false, .energy = {5.0, "no", 5.0, "no"}};

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

TEST(SumOfEnergies, IsOfThoseThatWereAskedAlone) {
  const EpochEnergy hosts = sum_of({host(10), kAskedForNothing, host(20)});
  EXPECT_EQ(hosts.joules, 30);
  EXPECT_EQ(hosts.lacks, "") << "nobody asked for a card";
  const EpochEnergy both = sum_of({host(10), card(300), host(20), card(400)});
  EXPECT_EQ(both.joules, 730);
  EXPECT_EQ(both.lacks, "");
}

TEST(SumOfEnergies, OfSomeHostsIsNone) {
  const EpochEnergy energy = sum_of({host(10), host(kUnknown, "host2: Permission denied")});
  EXPECT_TRUE(std::isnan(energy.joules));
}

TEST(SumOfEnergies, OfAllCardsSaysWhyItIsWithoutHosts) {
  const EpochEnergy energy =
      sum_of({host(10), card(300), host(kUnknown, "Permission denied"), card(400)});
  EXPECT_EQ(energy.joules, 700);
  EXPECT_EQ(energy.lacks, "joules without hosts: Permission denied");
}

TEST(SumOfEnergies, OfAllHostsSaysWhyItIsWithoutCards) {
  const EpochEnergy energy = sum_of({host(10), card(300), card(kUnknown, "before Volta")});
  EXPECT_EQ(energy.joules, 10);
  EXPECT_EQ(energy.lacks, "joules without cards: before Volta");
}

TEST(SumOfEnergies, OfNothingIsNone) {
  const EpochEnergy energy =
      sum_of({host(kUnknown, "no RAPL"), card(300), card(kUnknown, "began again")});
  EXPECT_TRUE(std::isnan(energy.joules));
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
