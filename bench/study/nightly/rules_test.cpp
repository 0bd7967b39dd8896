// SPDX-License-Identifier: Apache-2.0
// The two rules on values made up by hand.
#include "bench/study/nightly/rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace scalebench {
namespace {

/// Rounds in which tonight's build takes `times` as long; each a little off, as rounds are.
CellSamples rounds_of(const std::vector<double>& times) {
  CellSamples samples;
  samples.paired = true;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double round = 1 + 0.01 * static_cast<double>(i % 4);
    const double off = 0.999 + 0.001 * static_cast<double>(i % 3);
    samples.a.push_back(round);
    samples.b.push_back(round * times[i] * off);
  }
  return samples;
}

const std::vector<double> kSame(12, 1.0), kSlow(12, 1.3);

BuildCell judged(const std::vector<double>& sweep, const std::vector<double>& again) {
  return judge_build(std::vector<BuildRounds>{{rounds_of(sweep), rounds_of(again)}}).front();
}

TEST(BuildRule, ASlowCellIsSlowerOnlyWhereTheRerunShowsItToo) {
  EXPECT_EQ(judged(kSlow, kSlow).word, "SLOWER");
  EXPECT_EQ(judged(kSame, {}).word, "SAME");
  EXPECT_FALSE(judged(kSame, {}).open);
  const BuildCell alone = judged(kSlow, {});
  EXPECT_EQ(alone.word, "UNDECIDED");
  EXPECT_TRUE(alone.open);
}

TEST(BuildRule, ALittleThatTheRerunDoesNotShowPasses) {
  const BuildCell cell = judged(std::vector<double>(12, 1.05), kSame);
  EXPECT_NE(cell.word, "SLOWER");
  EXPECT_FALSE(cell.open);
}

TEST(BuildRule, MuchThatTheRerunDoesNotShowIsOpen) {
  const BuildCell cell = judged(kSlow, kSame);
  EXPECT_EQ(cell.word, "UNDECIDED");
  EXPECT_TRUE(cell.open);
}

TEST(BuildRule, MuchSlowerInNineOfTenRoundsNeverPasses) {
  std::vector<double> rounds(10, 1 / 0.41);
  rounds[4] = 1;
  EXPECT_EQ(judged(rounds, rounds).word, "SLOWER");
  for (const std::vector<double>& again : {std::vector<double>(), std::vector<double>(10, 1.0)}) {
    EXPECT_TRUE(judged(rounds, again).open);
  }
}

TEST(BuildRule, OneSlowCellAmongManyIsTheOnlyOneMeasuredAgain) {
  std::vector<BuildRounds> cells(50, {rounds_of(kSame), {}});
  cells[7] = {rounds_of(kSlow), rounds_of(kSlow)};
  cells[8].again = rounds_of(kSlow);  // a control
  const std::vector<BuildCell> judged = judge_build(cells);
  EXPECT_EQ(std::ranges::count(judged, true, &BuildCell::suspect), 1);
  EXPECT_EQ(judged[7].word, "SLOWER");
  EXPECT_EQ(judged[8].word, "SAME");
}

TEST(BuildRule, ACellWithoutRoundsIsMissing) {
  const BuildCell cell = judged({}, {});
  EXPECT_EQ(cell.word, "MISSING");
  EXPECT_TRUE(std::isnan(cell.seconds_a));
}

/// One cell, or several alike, night after night.
struct Nights {
  MachineNights past;
  MachineTonight last;

  std::string add(double seconds, int cells = 1) {
    std::map<std::string, double> tonight;
    for (int i = 0; i < cells; ++i) tonight["cell " + std::to_string(i)] = seconds;
    last = judge_machine(past, tonight);
    for (const auto& [key, cell] : last.cells) past.cells[key].push_back(cell);
    past.together.push_back(last.together);
    return last.cells.at("cell 0").word;
  }
  void add_good(int nights, int cells = 1) {
    for (int i = 0; i < nights; ++i) add(1 + 0.002 * (i % 5), cells);
  }
};

TEST(MachineRule, EightGoodNightsFirst) {
  Nights nights;
  for (int i = 0; i < 8; ++i) EXPECT_EQ(nights.add(1), "UNDECIDED");
  EXPECT_EQ(nights.add(1), "SAME");
  EXPECT_EQ(nights.last.cells.at("cell 0").nights, 8U);
}

TEST(MachineRule, TwoNightsRunningAreAnAlarmThatStays) {
  Nights nights;
  nights.add_good(20);
  EXPECT_EQ(nights.add(1.1), "WATCHED");
  for (int i = 0; i < 40; ++i) EXPECT_EQ(nights.add(1.1), "MACHINE") << i;
  EXPECT_NEAR(nights.last.cells.at("cell 0").change, 0.1, 0.01) << "against the good nights";
  EXPECT_EQ(nights.add(1), "SAME") << "repaired";
}

TEST(MachineRule, OneNightIsNoAlarmAndFiveOfTenAre) {
  Nights nights;
  nights.add_good(20);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(nights.add(1.1), "WATCHED");
    EXPECT_EQ(nights.add(1), "SAME");
  }
  EXPECT_EQ(nights.add(1.1), "MACHINE");
}

TEST(MachineRule, WhatIsWithinTheFloorIsNone) {
  Nights nights;
  nights.add_good(20);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(nights.add(1.03), "SAME");
}

TEST(MachineRule, AllCellsTogetherAreAnAlarmAtOnce) {
  Nights nights;
  nights.add_good(12, 6);
  EXPECT_EQ(nights.add(1.06, 6), "MACHINE");
  EXPECT_TRUE(nights.last.together.machine);
  EXPECT_EQ(nights.add(1.06, 6), "MACHINE") << "and so it stays";
  nights.add(1, 6);
  EXPECT_FALSE(nights.last.together.machine);
  Nights few;
  few.add_good(12, 3);
  EXPECT_EQ(few.add(1.06, 3), "WATCHED") << "three cells are not all";
}

TEST(MachineRule, WhatIsNotMeasuredIsMissingAndNoNightOfTheTwo) {
  Nights nights;
  nights.add_good(20);
  nights.add(1.1);
  nights.last = judge_machine(nights.past, {});
  EXPECT_EQ(nights.last.cells.at("cell 0").word, "MISSING");
  nights.past.cells["cell 0"].push_back(nights.last.cells.at("cell 0"));
  EXPECT_EQ(nights.add(1.1), "MACHINE");
}

}  // namespace
}  // namespace scalebench
