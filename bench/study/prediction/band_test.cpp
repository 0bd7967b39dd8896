// SPDX-License-Identifier: Apache-2.0
// Bands from errors worked out by hand; and in worlds of known noise the published bands must hold
// as many of the published measurements as they say.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "bench/measure/statistics.hpp"
#include "bench/study/prediction/prediction.hpp"
#include "bench/study/prediction/rows.hpp"
#include "bench/study/prediction/testing.hpp"

namespace scalebench {
namespace {

TEST(ErrorsLeftOut, ReachAsFarAsStudentsTSays) {
  const ErrorsLeftOut errors{{0.02, -0.04, 0.02}, 2};
  EXPECT_NEAR(errors.reach(), student_t_quantile(0.025, 2) * std::sqrt(0.0024 / 3), 1e-12);
  for (const ErrorsLeftOut& few : {ErrorsLeftOut{}, ErrorsLeftOut{{0.5}, 0}}) {
    EXPECT_TRUE(std::isnan(few.reach()));
  }
}

// Worlds in which every launch of an epoch and of an allreduce varies as if by chance.

constexpr double kSteps = 100;
constexpr int kLaunches = 3;

/// A strategy on 2 to `largest` ranks; `one_node`: all on one, else each on its own.
CaseOfRun world(int largest, bool one_node, double noise, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, noise);
  const auto noisy = [&](double seconds) { return seconds * std::exp(normal(random)); };
  CaseOfRun made{{}, ResultRow(epoch_schema())};
  made.like.set("origin", "measured").set("model", "known").set("case_id", "0");
  PredictionCase& of = made.of;
  of.strategy = "mirrored";
  of.strong = false;
  of.profiles = {known_world::profile()};
  of.algorithm = "ring";
  of.one = {{1, 1}, 12, 12 * kSteps, {}};
  for (int i = 0; i < kLaunches; ++i) {
    const double share = noisy(1);
    of.one.launches.push_back({kSteps * 0.172 * share, kSteps * 0.168 * share, 0, 0, 0, 0.4});
  }
  for (int n = 2; n <= largest; ++n) {
    const RankLayout at{n, one_node ? 1 : n};
    for (double bytes = 1024; bytes <= 1 << 26; bytes *= 16) {
      std::vector<double> seconds;
      for (int i = 0; i < kLaunches; ++i) {
        seconds.push_back(noisy(known_world::allreduce_seconds(bytes, at)));
      }
      of.curves["ring"].push_back({at, bytes, median_of(seconds)});
    }
    EpochLeg leg{at, 12, 12 * kSteps * n, {}};
    const double transfer = known_world::allreduce_seconds(4 * 1'325'000, at);
    for (int i = 0; i < kLaunches; ++i) {
      const double share = kSteps * noisy(1);
      leg.launches.push_back(
          {share * (0.172 + transfer), share * 0.168, share * transfer, 0, 0, share * 0.004});
    }
    of.legs.push_back(leg);
  }
  return made;
}

/// Of the measured times of the N that was held out, the share within the published bands.
double coverage(int largest, bool one_node) {
  constexpr int kWorlds = 600;
  constexpr double kNoise = 0.01;
  std::mt19937_64 random(20260101);
  PredictionQuestions questions;
  questions.ranks = {};
  int inside = 0;
  for (int i = 0; i < kWorlds; ++i) {
    const CaseOfRun of = world(largest, one_node, kNoise, random);
    for (const ResultRow& row : prediction_rows({of}, questions, "run")) {
      if (row.get("kind") != "held_out") continue;
      const double measured = number_in(row, "measured_efficiency");
      inside += number_in(row, "efficiency_low") <= measured &&
                        measured <= number_in(row, "efficiency_high")
                    ? 1
                    : 0;
    }
  }
  return static_cast<double>(inside) / kWorlds;
}

TEST(BandSimulation, HoldsAsManyMeasurementsAsItSays) {
  for (const int largest : {6, 8}) {
    const double held = coverage(largest, /*one_node=*/false);
    EXPECT_GE(held, 0.93) << "N = 2 to " << largest;
    EXPECT_LE(held, 0.97) << "N = 2 to " << largest;
  }
}

TEST(BandSimulation, HoldsNoFewerWithFewN) { EXPECT_GE(coverage(4, /*one_node=*/false), 0.93); }

/// What ranks of one node do to each other is a line through noisy points, not their mean.
TEST(BandSimulation, HoldsNoFewerOnOneNode) {
  for (const int largest : {4, 6, 8}) EXPECT_GE(coverage(largest, /*one_node=*/true), 0.93);
}

TEST(BandSimulation, OfOneNThereIsNone) {
  std::mt19937_64 random(7);
  const CaseOfRun of = world(2, /*one_node=*/false, 0.01, random);
  PredictionQuestions questions;
  questions.ranks = {4};
  questions.per_node = 1;
  for (const ResultRow& row : prediction_rows({of}, questions, "run")) {
    EXPECT_EQ(row.get("status"), "ok");
    EXPECT_EQ(row.get("efficiency_low"), "");
    EXPECT_EQ(row.get("efficiency_high"), "");
  }
}

}  // namespace
}  // namespace scalebench
