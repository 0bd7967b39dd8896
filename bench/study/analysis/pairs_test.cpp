// SPDX-License-Identifier: Apache-2.0
// Which cells differ, how surely that is found, and what a program shows against itself.
#include "bench/study/analysis/pairs.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>

#include "bench/study/analysis/tables.hpp"
#include "bench/study/plan/plan.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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

TEST(CompareCells, IsAmbiguousWhereNothingIsShown) {
  const auto cells = compare_cells(std::vector<CellSamples>{
      {around(1, 0.05), around(1.01, 0.05)},  // an interval far wider than the floor
      {around(1), around(1.03, 0.002)},       // one that lies on it
      {{1.0, 1.1, 1.2}, {2.0, 2.1, 2.2}}});   // three launches: no interval
  for (const CellComparison& cell : cells) EXPECT_EQ(cell.verdict, Verdict::ambiguous);
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
        Simulated{kElevenRounds, 0.05, 0.4}, Simulated{kEightRounds, 0.05, 0.7},
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
  EXPECT_EQ(in_rounds_of_a_changing_machine(1.05, false), Verdict::ambiguous);
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

TEST(CompareCells, NeedsMoreEvidenceAmongManyCells) {
  const CellSamples five{from_to(5, 1, 0.001), from_to(5, 1.1, 0.001)};
  EXPECT_EQ(compare_cells(std::vector<CellSamples>(6, five))[0].verdict, Verdict::slower);
  EXPECT_EQ(compare_cells(std::vector<CellSamples>(7, five))[0].verdict, Verdict::ambiguous);
}

}  // namespace
// What certify makes of pairs: the sides, and whether a program equals itself.

namespace {

StudyConfig config_of(std::uint64_t seed = 1) {
  StudyConfig config;
  config.launches = 20;
  config.ranks = {2};
  config.seed = seed;
  config.allreduce.emplace();
  return config;
}

std::string sides(const std::vector<PlannedLaunch>& plan) {
  std::string letters;
  for (const PlannedLaunch& launch : plan) letters += launch.name.back();
  return letters;
}

TEST(CertifyPlan, DrawsWhichOfEachPairComesFirst) {
  const std::vector<PlannedLaunch> plan = certify_plan(config_of(), {.devices = 2});
  ASSERT_EQ(plan.size(), 40U);
  const std::map<int, bool> is_b = sides_of(plan);
  ASSERT_EQ(is_b.size(), 40U);
  int b_first = 0;
  for (std::size_t i = 0; i < 40; i += 2) {
    const bool first = is_b.at(plan[i].number);
    EXPECT_NE(first, is_b.at(plan[i + 1].number)) << "a pair is an A and a B";
    b_first += first ? 1 : 0;
    EXPECT_EQ(plan[i].name, first ? "allreduce-n2-b" : "allreduce-n2-a");
  }
  EXPECT_GT(b_first, 3);
  EXPECT_LT(b_first, 17);
  EXPECT_EQ(sides(certify_plan(config_of(), {.devices = 2})), sides(plan));
  EXPECT_NE(sides(certify_plan(config_of(2), {.devices = 2})), sides(plan));
  EXPECT_NE(plan[0].arguments, plan[1].arguments) << "each its own shuffle";
}

TEST(CertifyPlan, OtherStudiesHaveNoSides) {
  EXPECT_TRUE(sides_of(plan_of(config_of(), {.devices = 2})).empty());
}

/// What one launch says about `cells` cases, all around 1 ms; `factor` for the first of them.
LaunchRows launch_of(int number, int cells, double factor, std::mt19937_64& random) {
  std::normal_distribution<double> noise(1, 0.002);
  LaunchRows launch{number, {}, {}};
  for (int cell = 0; cell < cells; ++cell) {
    ResultRow& row = launch.cases.emplace_back(allreduce_schema());
    row.set("case_id", fmt::format("case{}", cell)).set("status", "ok").set("ranks", 2);
    row.set("size_bytes", 1024 << cell).set("algorithm", "ring").set("origin", "measured");
    row.set("seconds_median", 1e-3 * noise(random) * (cell == 0 ? factor : 1.0));
  }
  return launch;
}

struct Sides {
  std::vector<LaunchRows> a, b;
};

Sides sides_of(int launches, int cells, double factor_of_b = 1) {
  std::mt19937_64 random(5);
  Sides sides;
  for (int i = 0; i < launches; ++i) {
    sides.a.push_back(launch_of(2 * i + 1, cells, 1, random));
    sides.b.push_back(launch_of(2 * i + 2, cells, factor_of_b, random));
  }
  return sides;
}

TEST(Certificate, PassesEqualSidesAndSaysWhatWouldBeSeen) {
  const auto [a, b] = sides_of(10, 12);
  const Certificate certificate = certificate_of(a, b);
  EXPECT_TRUE(certificate.certified()) << certificate.incomplete;
  EXPECT_EQ(certificate.cells, 12U);
  EXPECT_EQ(certificate.differing, 0U);
  EXPECT_LT(certificate.spread, 0.005);
  EXPECT_EQ(certificate.equal, 12U);
  ASSERT_EQ(certificate.families.size(), 2U);
  EXPECT_EQ(certificate.families[0].cells + certificate.families[1].cells, 12U);
  for (const FamilyPower& family : certificate.families) {
    EXPECT_GT(family.effect, 0.03) << name_of(family.family);
    EXPECT_LT(family.effect, 0.04) << name_of(family.family);
  }
  ASSERT_EQ(certificate.rows.size(), 12U);
  EXPECT_EQ(certificate.rows[0].get("verdict"), "SAME");
  EXPECT_EQ(certificate.rows[0].get("launches_a"), "10");
  EXPECT_EQ(certificate.rows[0].get("size_bytes"), "1024") << "sorted, as every file";
}

TEST(Certificate, FailsWhenMoreThanOneInTwentyDiffers) {
  for (const int cells : {12, 20}) {
    const auto [a, b] = sides_of(10, cells, 1.1);
    const Certificate certificate = certificate_of(a, b);
    EXPECT_EQ(certificate.differing, 1U);
    EXPECT_EQ(certificate.incomplete, "");
    EXPECT_EQ(certificate.certified(), cells == 20) << "1 of 20 is 5 %, as chance allows";
    EXPECT_EQ(certificate.rows[0].get("verdict"), "SLOWER");
  }
}

TEST(Certificate, CertifiesNothingThatItCouldNotHaveSeen) {
  const auto [a, b] = sides_of(5, 12);
  const Certificate certificate = certificate_of(a, b);
  EXPECT_FALSE(certificate.certified());
  EXPECT_THAT(certificate.incomplete, HasSubstr("5 launches a side"));
  EXPECT_THAT(certificate.incomplete, HasSubstr("takes 6"));
}

TEST(Certificate, IsIncompleteWithAWrongOrMissingCell) {
  auto [a, b] = sides_of(10, 4);
  b[3].cases[1].set("status", "wrong").set("note", "3 elements");
  Certificate certificate = certificate_of(a, b);
  EXPECT_THAT(certificate.incomplete, HasSubstr("1 of 4 cells"));
  EXPECT_EQ(certificate.rows[1].get("status"), "wrong");
  EXPECT_EQ(certificate.rows[1].get("verdict"), "MISSING");
  EXPECT_EQ(certificate.rows[1].get("note"), "3 elements");

  certificate = certificate_of(a, std::vector<LaunchRows>());
  EXPECT_EQ(certificate.compared, 0U);
  EXPECT_FALSE(certificate.certified());
  EXPECT_FALSE(certificate_of(std::vector<LaunchRows>(), std::vector<LaunchRows>()).certified());
}

TEST(Certificate, ListsWhatWasSkippedWithoutCountingIt) {
  auto [a, b] = sides_of(10, 3);
  for (auto* side : {&a, &b}) {
    for (LaunchRows& launch : *side) {
      launch.cases[2].set("status", "skipped").set("seconds_median", "").set("note", "no device");
    }
  }
  const Certificate certificate = certificate_of(a, b);
  EXPECT_TRUE(certificate.certified());
  EXPECT_EQ(certificate.cells, 2U);
  EXPECT_EQ(certificate.rows.size(), 3U);
  EXPECT_EQ(certificate.rows[2].get("status"), "skipped");
  EXPECT_EQ(certificate.rows[2].get("note"), "no device");
  EXPECT_EQ(certificate.rows[2].get("verdict"), "");
}

}  // namespace
}  // namespace scalebench
