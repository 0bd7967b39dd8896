// SPDX-License-Identifier: Apache-2.0
// The statistics under the gate, by values that can be worked out by hand or by many draws.
#include "bench/study/nightly/baseline.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

#include "bench/measure/statistics.hpp"
#include "bench/study/nightly/detection.hpp"
#include "bench/study/nightly/made_up_nights_test.hpp"

namespace scalebench {
namespace {

std::vector<double> autoregressive(std::uint64_t seed, std::size_t n, double phi) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values{normal(random)};
  while (values.size() < n) {
    values.push_back(phi * values.back() + std::sqrt(1 - phi * phi) * normal(random));
  }
  return values;
}

TEST(EffectiveCount, IsThatOfTheVarianceOfAMean) {
  EXPECT_EQ(effective_count(20, 0), 20);
  // 1/n (1 + 2 sum (1 - j/n) phi^j), by hand for n = 3.
  EXPECT_NEAR(effective_count(3, 0.5), 3 / (1 + 2 * (2.0 / 3 * 0.5 + 1.0 / 3 * 0.25)), 1e-12);
  double squares = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    double sum = 0;
    for (const double value : autoregressive(seed, 20, 0.7)) sum += value / 20;
    squares += sum * sum / 4000;
  }
  EXPECT_NEAR(1 / squares, effective_count(20, 0.7), 0.4);
}

TEST(Correlation, IsFoundWithoutTheBiasOfShortSeries) {
  for (const double phi : {0.0, 0.5, 0.7}) {
    std::vector<double> found;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
      found.push_back(correlation_of(autoregressive(seed, 40, phi)));
    }
    EXPECT_NEAR(median_of(found), phi, 0.06) << phi;
  }
  EXPECT_EQ(correlation_of({1, 2, 3}), 0) << "too few";
  EXPECT_EQ(correlation_of(std::vector<double>(20, 1.0)), 0) << "no spread";
}

TEST(RobustSpread, IsTheFirstQuartileOfDistancesAndDoesNotMindWildValues) {
  // Of 1..10 the 15th of 45 distances is 2.
  std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_NEAR(robust_spread(values), 2.2219 * 2 * 10 / 13.8, 1e-12);
  values[9] = 1e9;
  EXPECT_LT(robust_spread(values), 5);
  EXPECT_TRUE(std::isnan(robust_spread({1})));
  for (const std::size_t n : {5U, 20U}) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      sum += robust_spread(autoregressive(seed, n, 0)) / 2000;
    }
    EXPECT_NEAR(sum, 1, 0.05) << n;
  }
}

TEST(Spreads, BorrowFromTheirFamilyAsFarAsChanceExplainsThem) {
  std::vector<Spread> spreads;
  for (int i = 0; i < 20; ++i) spreads.push_back({"quiet", 1.0 + 0.02 * (i - 10), 8});
  spreads.push_back({"quiet", 4.0, 8});
  spreads.push_back({"alone", 4.0, 8});
  borrow_from_families(spreads);
  EXPECT_EQ(spreads[0].value, spreads[5].value) << "never below the usual";
  EXPECT_LT(spreads[20].value, 1.5) << "cells of this family do not differ";
  EXPECT_GT(spreads[0].df, 100) << "twenty cells know it together";
  EXPECT_EQ(spreads[21].value, 4.0);
  EXPECT_EQ(spreads[21].df, 8);
}

TEST(Drift, WithoutResemblanceIsTheDifferenceOfMeans) {
  GateSeriesSet set(20);
  GateSeries& cell = set.add_cell();
  double before = 0, after = 0;
  for (std::size_t k = 0; k < 20; ++k) {
    cell.y[k] = 0.002 * std::sin(static_cast<double>(k * k)) - (k < 12 ? 0 : 0.03);
    (k < 12 ? before : after) += cell.y[k] / (k < 12 ? 12 : 8);
  }
  const std::vector<double> none(20, 0.0);
  const Drift drift = drift_of(cell, 19, none, 0.0);
  EXPECT_TRUE(drift.found);
  EXPECT_EQ(drift.since, 12U);
  EXPECT_NEAR(std::log1p(drift.change), after - before, 1e-12);
  EXPECT_LE(drift.earliest, 12U);
  // The same step in nights that resemble each other says less, and none is no step.
  EXPECT_TRUE(drift_of(cell, 19, none, std::nullopt).found);
  for (std::size_t k = 12; k < 20; ++k) cell.y[k] += 0.03;
  EXPECT_FALSE(drift_of(cell, 19, none, 0.0).found);
}

TEST(Sensitivity, ThresholdIsWhereAValueBecomesASuspect) {
  constexpr std::size_t kCells = 100, kNight = 29;
  MadeUpNights nights(1, kCells, kNight + 1);
  const GateSeriesSet& set = nights.set();
  const NightBaseline baseline = baseline_of(set, kNight);
  const Shift shift = common_shift(set, baseline, kNight);
  const auto stated = sensitivities(set, test_night(set, baseline, shift, kNight));
  for (std::size_t c = 0; c < kCells; c += 10) {
    for (const double times : {0.98, 1.02}) {
      GateSeriesSet changed = set;
      changed.cells[c].y[kNight] =
          baseline[c].level + shift.value + std::log1p(-stated[c].critical_drop * times);
      const NightTest test = test_night(changed, baseline, shift, kNight);
      EXPECT_EQ(test.cells[c].signal == Signal::worse, times > 1) << c;
    }
  }
}

TEST(Sensitivity, AsManyRoundsAsItNamesAreEnough) {
  const Noise noise{.launch = .08, .slow_share = 0};
  const auto seen = [&](std::size_t rounds) {
    MadeUpNights nights(7, 30, 1, noise, rounds, 0);
    NightMemory memory = nights.memory();
    return sensitivities(memory.set(), memory.last().test)[0];
  };
  const Sensitivity few = seen(6);
  ASSERT_FALSE(few.sees());
  ASSERT_TRUE(few.launches_needed);
  EXPECT_NEAR(seen(*few.launches_needed).mde, kToBeSeen, 0.02);
}

/// How often the interval of a change holds none, beside the accepted build in so many rounds.
double held_beside(std::size_t cells, int rounds) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> round(0, 0.02);
  double inside = 0, all = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    GateSeriesSet set(1);
    set.build[0] = 1;
    for (std::size_t c = 0; c < cells; ++c) {
      GateSeries& cell = set.add_cell();
      cell.family = "throughput";
      cell.y[0] = 0;
      for (int r = 0; r < rounds; ++r) cell.beside[0].sweep.push_back(round(random));
    }
    const NightBaseline baseline = baseline_of(set, 0);
    for (const CellTest& cell : test_night(set, baseline, {}, 0).cells) {
      inside += cell.change_low <= 0 && cell.change_high >= 0 ? 1 : 0;
      ++all;
    }
  }
  return inside / all;
}

// A cell alone in its family has nobody to borrow a spread from.
TEST(Change, OfACellAloneInItsFamilyHasAnIntervalThatHoldsLess) {
  for (const auto& [rounds, alone, of_three] :
       {std::tuple(3, 0.88, 0.96), {5, 0.90, 0.97}, {7, 0.92, 0.97}, {12, 0.944, 0.966}}) {
    EXPECT_NEAR(held_beside(1, rounds), alone, 0.015) << rounds;
    EXPECT_NEAR(held_beside(3, rounds), of_three, 0.015) << rounds;
  }
}

struct Drops {
  double found = 0;   // share
  double change = 0;  // mean of the found ones
};

/// Of a night with `drop` in one of so many cells; not known: as much as its mde.
Drops found_drops(std::size_t cells, double noise, std::size_t rounds, std::optional<double> drop,
                  bool beside, std::uint64_t seeds) {
  constexpr std::size_t kNight = 20;
  Drops sum;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto nights = [&] {
      return MadeUpNights(seed, cells, kNight + 1,
                          {.night = noise, .launch = noise, .repetition = noise}, rounds,
                          beside ? std::optional<std::size_t>(0) : std::nullopt);
    };
    double size = drop.value_or(0);
    if (!drop) {
      MadeUpNights before = nights();
      NightMemory quiet = before.memory();
      const NightTest test = quiet.last().test;
      size = -sensitivities(quiet.set(), test)[0].mde;
    }
    MadeUpNights changed = nights();
    changed.change(0, kNight, size);
    NightMemory memory = changed.memory();
    const JudgedNight& night = memory.last();
    if (night.outcomes[0] != Discovery::regressed) continue;
    ++sum.found;
    sum.change += night.test.cells[0].change;
  }
  sum.change /= sum.found;
  sum.found /= static_cast<double>(seeds);
  return sum;
}

TEST(Sensitivity, OfThreeRoundsIsFoundLessOftenThanItSays) {
  EXPECT_NEAR(found_drops(1, 0.01, 3, std::nullopt, true, 400).found, 0.67, 0.08);
  EXPECT_NEAR(found_drops(1, 0.01, 12, std::nullopt, true, 400).found, 0.80, 0.08);
}

// What is found near the limit is what luck made large enough.
TEST(Change, OfAFoundRegressionIsOverstatedNearTheLimit) {
  for (const auto& [drop, as_found] : {std::pair(-0.03, -0.073), {-0.10, -0.103}}) {
    const double change = found_drops(5, 0.02, 5, drop, false, 600).change;
    fmt::print("of found drops of {} the mean change is {:.3f}\n", drop, change);
    EXPECT_NEAR(change, as_found, 0.012);
  }
}

}  // namespace
}  // namespace scalebench
