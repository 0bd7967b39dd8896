// SPDX-License-Identifier: Apache-2.0
// Which cells differ, and how surely that is found.
#include "bench/study/analysis/pairs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>

namespace scalebench {
namespace {

using testing::ElementsAre;

std::vector<double> from_to(int n, double first, double step) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(first + i * step);
  return values;
}

/// Ten launches around `center`, 0.1 % apart.
std::vector<double> around(double center, double step = 0.001) {
  return from_to(10, center * (1 - 4.5 * step), center * step);
}

TEST(CompareCells, TellsFasterFromSlowerFromSame) {
  const auto cells = compare_cells(std::vector<CellSamples>{
      {around(1), around(1.00005)}, {around(1), around(1.1)}, {around(1), around(0.9)}});
  EXPECT_EQ(cells[0].verdict, Verdict::same);
  EXPECT_EQ(cells[1].verdict, Verdict::slower);
  EXPECT_EQ(cells[2].verdict, Verdict::faster);
  EXPECT_NEAR(cells[1].ratio, 1.1, 1e-9);
  EXPECT_NEAR(cells[1].p_holm, 3 * 2.0 / 184756, 1e-12);
  EXPECT_TRUE(cells[1].differs() && cells[2].differs() && !cells[0].differs());
}

TEST(CompareCells, TakesASignificantTrifleForTheSame) {
  const auto cells = compare_cells(std::vector<CellSamples>{{around(1), around(1.02)}});
  EXPECT_LT(cells[0].p_holm, 0.001);
  EXPECT_EQ(cells[0].verdict, Verdict::same);
}

TEST(CompareCells, IsUndecidedWhereNothingIsShown) {
  const auto cells = compare_cells(std::vector<CellSamples>{
      {around(1, 0.05), around(1.01, 0.05)},  // an interval far wider than the floor
      {around(1), around(1.03, 0.002)},       // one that lies on it
      {{1.0, 1.1, 1.2}, {2.0, 2.1, 2.2}}});   // three launches: no interval
  for (const CellComparison& cell : cells) EXPECT_EQ(cell.verdict, Verdict::undecided);
}

TEST(CompareCells, NeverPassesAMissingSide) {
  const auto cells = compare_cells(std::vector<CellSamples>{{around(1), {}}, {{}, {}}});
  for (const CellComparison& cell : cells) {
    EXPECT_EQ(cell.verdict, Verdict::missing);
    EXPECT_TRUE(std::isnan(cell.p_holm));
  }
}

struct Launches {
  bool paired = false;
  int of_a_side = 10;
  std::size_t cells = 16;
};

/// Of these cells one by `factor` slower: how often that is found, and the mean of the smallest
/// effects that its comparisons named.
std::pair<double, double> found_among(const Launches& launches, double factor, double noise) {
  constexpr int kTrials = 400;
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> launch(0, noise);
  int found = 0;
  double named = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<CellSamples> cells(launches.cells);
    for (CellSamples& cell : cells) {
      cell.paired = launches.paired;
      for (int i = 0; i < launches.of_a_side; ++i) {
        cell.a.push_back(launch(random));
        cell.b.push_back(launch(random) * (&cell == &cells[3] ? factor : 1));
      }
    }
    const CellComparison result = compare_cells(cells)[3];
    found += result.verdict == Verdict::slower ? 1 : 0;
    named += result.smallest_effect;
  }
  return {static_cast<double>(found) / kTrials, named / kTrials};
}

TEST(CompareCells, NamesTheEffectThatIsFoundFourTimesInFive) {
  for (const double noise : {0.01, 0.05, 0.15}) {
    const double effect = found_among({}, 1, noise).second;
    const double power = found_among({}, 1 + effect, noise).first;
    EXPECT_NEAR(power, kPower, 0.08) << 100 * effect << " % at a noise of " << noise;
  }
}

/// The table of results/README.md, "Smallest effect".
TEST(CompareCells, FindsThatEffectLessOftenOfHardlyEnoughLaunches) {
  struct Simulated {
    Launches launches;
    double noise, power;
  };
  constexpr Launches kTwelveRounds{true, 12, 36}, kElevenRounds{true, 11, 36};
  constexpr Launches kEightRounds{true, 8, 4}, kApart{false, 8, 36};
  for (const auto& [launches, noise, expected] :
       {Simulated{kTwelveRounds, 0.01, 0.8}, Simulated{kTwelveRounds, 0.05, 0.5},
        Simulated{kElevenRounds, 0.05, 0.4}, Simulated{kEightRounds, 0.05, 0.55},
        Simulated{kApart, 0.05, 0.6}}) {
    const double effect = found_among(launches, 1, noise).second;
    const double power = found_among(launches, 1 + effect, noise).first;
    EXPECT_NEAR(power, expected, 0.08) << launches.of_a_side << " launches at a noise of " << noise;
  }
}

/// Ten rounds in which the machine is in another state each time, for both sides alike.
Verdict in_rounds_of_a_changing_machine(double factor, bool paired) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> round(0, 0.3), launch(0, 0.01);
  std::vector<CellSamples> cells(4);
  for (CellSamples& cell : cells) {
    cell.paired = paired;
    for (int i = 0; i < 10; ++i) {
      const double shared = round(random);
      cell.a.push_back(shared * launch(random));
      cell.b.push_back(factor * shared * launch(random));
    }
  }
  return compare_cells(cells)[1].verdict;
}

TEST(CompareCells, WhatARoundDoesToBothSidesCancels) {
  EXPECT_EQ(in_rounds_of_a_changing_machine(1.05, true), Verdict::slower);
  EXPECT_EQ(in_rounds_of_a_changing_machine(1.05, false), Verdict::undecided);
  EXPECT_EQ(in_rounds_of_a_changing_machine(1, true), Verdict::same);
}

TEST(CompareCells, KnowsHowManyLaunchesItTakes) {
  EXPECT_EQ(launches_needed(1), 4U);
  EXPECT_EQ(launches_needed(4), 5U);
  EXPECT_EQ(launches_needed(24), 7U);
  EXPECT_EQ(launches_needed(1, true), 6U) << "2 / 64";
  EXPECT_EQ(launches_needed(4, true), 8U);
}

TEST(CellPair, PairsTheRoundsThatBothSidesHave) {
  const ResultRow row(allreduce_schema());
  const Cell a{"k", CellFamily::latency, row, {1, 2, 3}, {0, 1, 2}, "ok", ""};
  const Cell b{"k", CellFamily::latency, row, {30, 10}, {2, 0}, "ok", ""};
  const CellSamples samples = CellPair{&a, &b}.samples(true);
  EXPECT_THAT(samples.a, ElementsAre(1, 3));
  EXPECT_THAT(samples.b, ElementsAre(10, 30));
  EXPECT_FALSE((CellPair{&a, nullptr}.samples(true).paired)) << "nothing to pair with";
}

/// One row of a launch: half of them on another day, on which all take twice as long.
ResultRow timed(const std::string& algorithm, double seconds, int round) {
  ResultRow row(allreduce_schema());
  row.set("case_id", algorithm).set("algorithm", algorithm).set("status", "ok");
  row.set("origin", "measured").set("transport", "mpi").set("ranks", 2).set("size_bytes", 1 << 20);
  return row.set("seconds_median", seconds * (round % 2 + 1) * (1 + 0.001 * round));
}

TEST(RelateToNative, ComparesInEachRoundWhatDiffersInTheAlgorithmAlone) {
  std::vector<LaunchRows> launches;
  for (int round = 0; round < 8; ++round) {
    ResultRow elsewhere = timed("ring", 5, round);
    elsewhere.set("case_id", "e").set("transport", "shared_memory");
    launches.push_back({round,
                        {timed("native", 1.2, round), timed("ring", 1, round), elsewhere,
                         timed("naive", 2.4, round)},
                        {},
                        round});
  }
  std::vector<ResultRow> rows;
  const auto relate = [&] {
    std::vector<Cell> cells = cells_of(launches);
    relate_to_native(cells);
    rows.clear();
    for (const Cell& cell : cells) rows.push_back(cell.row);
  };
  relate();
  const auto said = [&](std::size_t i) {
    return rows[i].get("native_verdict") + rows[i].get("native_ratio");
  };
  EXPECT_EQ(said(1) + said(3), "") << "native itself, and a transport without";
  EXPECT_EQ(rows[2].get("native_verdict"), "FASTER");
  EXPECT_NEAR(number_in(rows[2], "native_ratio"), 1.2, 1e-9);
  EXPECT_EQ(rows[0].get("native_verdict"), "SLOWER");
  EXPECT_NEAR(number_in(rows[0], "native_ratio_ci_low"), 0.5, 1e-9) << "paired by round";
  EXPECT_NEAR(number_in(rows[0], "native_ratio_ci_high"), 0.5, 1e-9);

  for (LaunchRows& launch : launches) launch.cases[0].set("status", "skipped");
  relate();
  EXPECT_EQ(said(2), "") << "there is none";
  launches[3].cases[0].set("status", "wrong");
  relate();
  EXPECT_EQ(said(2), "MISSING") << "one wrong sum voids the case";
}

TEST(CompareCells, NeedsMoreEvidenceAmongManyCells) {
  const CellSamples five{from_to(5, 1, 0.001), from_to(5, 1.1, 0.001)};
  EXPECT_EQ(compare_cells(std::vector<CellSamples>(6, five))[0].verdict, Verdict::slower);
  EXPECT_EQ(compare_cells(std::vector<CellSamples>(7, five))[0].verdict, Verdict::undecided);
}

}  // namespace
}  // namespace scalebench
