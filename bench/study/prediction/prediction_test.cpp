// SPDX-License-Identifier: Apache-2.0
// Whole predictions in worlds whose truth is known: without noise they must be exact, and what the
// measured N say of disturbances must be found and carried over, but never from what is held out.
#include "bench/study/prediction/prediction.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "bench/study/prediction/testing.hpp"
#include "kernels/error.hpp"

namespace scalebench::prediction_test {
namespace {

constexpr double kSamples = 1440;

/// What the world does to computation, transfer and hiding.
struct World {
  double contention = 1;
  double transfer = 1;
  double overlap = 1;
  double static_wait = 0;
};

/// What such a world measures on `at`.
EpochLeg measured(const PredictionCase& of, const RankLayout& at, const World& world) {
  EpochLeg leg{
      at, of.strong ? 12.0 / at.ranks : 12, of.strong ? kSamples : kSamples * at.ranks, {}};
  StepInputs in;
  in.profile = with_batch(known_world::profile(), leg.batch, {});
  const double host = in.profile.host_seconds;
  in.profile = stretched(in.profile, world.contention);
  in.profile.host_seconds = host;
  in.at = at;
  in.overlap = world.overlap;
  in.allreduce_seconds = [&](double bytes) {
    return world.transfer * known_world::allreduce_seconds(bytes, at);
  };
  const PredictedStep step = step_of(of.strategy, in);
  const double wait = world.static_wait * step.compute_seconds, steps = leg.steps();
  leg.launches = {{steps * (step.seconds() + wait), steps * step.compute_seconds,
                   steps * step.exposed_seconds, steps * wait, 0}};
  return leg;
}

PredictionCase world_case(const std::string& strategy, bool strong, const World& world) {
  PredictionCase of;
  of.strategy = strategy;
  of.strong = strong;
  of.one = {{1, 1}, 12, kSamples, {{120 * 0.172, 120 * 0.168, 0, 0, 0}}};
  // Only its shape counts: H says how long it takes.
  of.profiles = {stretched(known_world::profile(), 0.1)};
  of.algorithm = "ring";
  for (const int n : {2, 3, 4}) {
    const RankLayout at{n, n};
    for (double bytes = 1024; bytes <= 1 << 26; bytes *= 4) {
      of.curves["ring"].push_back({at, bytes, known_world::allreduce_seconds(bytes, at)});
    }
    of.legs.push_back(measured(of, at, world));
  }
  return of;
}

void expect_exact(const PredictionCase& of, const World& world, double tolerance = 1e-9) {
  const Predictor predictor(without(of, 4));
  EXPECT_EQ(predictor.calibration().ranks, (std::vector<int>{2, 3}));
  for (const int n : {2, 3, 4, 6, 12}) {
    const RankLayout at{n, n};
    const EpochLeg truth = measured(of, at, world);
    const Forecast forecast = predictor.forecast({at});
    EXPECT_LE(std::abs(forecast.epoch_seconds / truth.middle().seconds - 1), tolerance)
        << of.strategy << " on " << n;
    EXPECT_EQ(forecast.curve_measured, n < 4);
    const double work = of.strong ? 1.0 / n : 1;
    EXPECT_NEAR(forecast.efficiency, work * of.one.middle().seconds / truth.middle().seconds, 1e-9);
  }
}

TEST(Predictor, IsExactInAnExactWorld) {
  for (const char* strategy : {"mirrored", "naive", "bucketed_overlap", "zero1", "multi_worker"}) {
    for (const bool strong : {true, false}) expect_exact(world_case(strategy, strong, {}), {});
  }
}

TEST(Predictor, CarriesOverWhatTheMeasuredRanksSay) {
  const World disturbed{.contention = 1.25, .transfer = 1.4, .static_wait = 0.05};
  const PredictionCase of = world_case("mirrored", false, disturbed);
  expect_exact(of, disturbed);
  const Calibration found = Predictor(of).calibration();
  EXPECT_NEAR(found.contention.at(1), 1.25, 1e-9);
  EXPECT_NEAR(found.transfer.at(1), 1.4, 1e-9);
  EXPECT_NEAR(found.static_wait, 0.05, 1e-9);
}

TEST(Predictor, FindsHowMuchOverlapHides) {
  const World half{.overlap = 0.5};
  const PredictionCase of = world_case("bucketed_overlap", false, half);
  EXPECT_NEAR(Predictor(of).calibration().overlap.at(1), 0.5, 1e-9);
  expect_exact(of, half);
  // Communication that holds up the pass for longer than it takes by itself is not left out.
  const World costly{.overlap = -0.5};
  EXPECT_NEAR(Predictor(world_case("bucketed_overlap", false, costly)).calibration().overlap.at(1),
              -0.5, 1e-9);
  expect_exact(world_case("bucketed_overlap", false, costly), costly);
  PredictionCase unmeasured = of;
  unmeasured.legs.clear();
  EXPECT_EQ(Predictor(unmeasured).overlap({8, 8}), 1);
  unmeasured.on_compute_core = true;
  EXPECT_EQ(Predictor(unmeasured).overlap({8, 8}), 0);
}

TEST(Predictor, KnowsNothingOfWhatIsHeldOut) {
  PredictionCase of = world_case("mirrored", false, {});
  const double before = Predictor(without(of, 4)).forecast({{4, 4}}).epoch_seconds;
  of.legs.back().launches = {{1, 1, 1, 1, 1}};
  for (CurvePoint& point : of.curves["ring"]) {
    if (point.at.ranks == 4) point.seconds = 1;
  }
  of.shares.push_back({4, {3, 0.1}});
  EXPECT_EQ(Predictor(without(of, 4)).forecast({{4, 4}}).epoch_seconds, before);
}

TEST(Predictor, WaitsForTheSlowestOfItsRanks) {
  PredictionCase of = world_case("mirrored", false, {});
  of.legs.clear();
  of.profiles.front().step_seconds = {0.0162, 0.0182};  // 0.172 +- 0.010 s as long as H
  const Forecast two = Predictor(of).forecast({{2, 2}});
  // Of two draws the longer one is 0.182 in three of four cases: 0.177 on average, 5 ms over.
  EXPECT_NEAR(two.wait_seconds, 0.005, 1e-9);
}

TEST(Predictor, SaysWhyItCannot) {
  const Predictor strong(world_case("mirrored", true, {}));
  EXPECT_THROW(strong.forecast({{5, 5}}), Unavailable);  // 12 images on 5 ranks
  PredictionCase other = world_case("mirrored", false, {});
  other.algorithm = "native";
  EXPECT_THROW(Predictor(other).forecast({{2, 2}}), Unavailable);
}

TEST(Predictor, CarriesOverWhatInputAndHostTake) {
  PredictionCase of = world_case("mirrored", false, {});
  for (EpochLeg& leg : of.legs) {
    for (EpochSample& launch : leg.launches) {  // twice the 4 ms a step
      launch.other_seconds = leg.steps() * 0.008;
      launch.seconds += leg.steps() * 0.004;
    }
  }
  const Predictor predictor(without(of, 4));
  EXPECT_NEAR(predictor.calibration().other, 2, 1e-9);
  const EpochLeg& held_out = of.legs.back();
  EXPECT_NEAR(predictor.forecast({held_out.at}).epoch_seconds / held_out.middle().seconds, 1, 1e-9);
}

TEST(Predictor, WaitsAsLongAsMeasuredAlsoWhereStepsSayLess) {
  // 6 ms of jitter a step on every N: the recorded steps, all as long, expect none, and those that
  // vary by 1 ms less.
  for (const double spread : {0.0, 0.001}) {
    PredictionCase of = world_case("mirrored", false, {});
    for (EpochLeg& leg : of.legs) {
      leg.launches[0].wait_jitter_seconds = leg.steps() * 0.006;
      leg.launches[0].seconds += leg.steps() * 0.006;
    }
    of.profiles = {known_world::profile()};
    of.profiles.front().step_seconds = {0.172 - spread, 0.172 + spread};
    const Predictor predictor(without(of, 4));
    const double wait = predictor.forecast({{3, 3}}).wait_seconds;
    EXPECT_GE(wait, 0.005) << spread;
    EXPECT_LE(wait, 0.008) << spread;
  }
}

TEST(Predictor, TakesEmulatedNodesForOneMachine) {
  // Four nodes in a box: what 2 and 3 ranks do to each other goes on with the fourth.
  PredictionCase of = world_case("mirrored", false, {});
  for (EpochLeg& leg : of.legs) {
    const double more = 0.1 * std::log(leg.at.ranks) * leg.launches[0].compute_seconds;
    leg.launches[0].compute_seconds += more;
    leg.launches[0].seconds += more;
  }
  EXPECT_LT(Predictor(without(of, 4)).contention({4, 4}), 1.1);
  of.on_one_machine = true;
  const Predictor predictor(without(of, 4));
  EXPECT_NEAR(predictor.contention({4, 4}), 1 + 0.1 * std::log(4), 1e-9);
}

TEST(Beside, IsStraightBetweenAndGoesOnBeyond) {
  Beside factor;
  EXPECT_EQ(factor.at(8), 1);
  EXPECT_EQ(Beside(0).at(8), 0);
  factor.set(2, 1.2);
  factor.set(4, 1.6);
  EXPECT_EQ(factor.at(1), 1);
  EXPECT_NEAR(factor.at(1.5), 1.1, 1e-12);
  EXPECT_NEAR(factor.at(3), 1.4, 1e-12);
  // The line through (0, 1), (ln 2, 1.2), (ln 4, 1.6) rises by 0.3 with each doubling.
  EXPECT_NEAR(factor.at(64), 1.6 + 4 * 0.3, 1e-12);
  Beside alone;  // one rank a node: nothing that could grow
  alone.set(1, 1.1);
  EXPECT_EQ(alone.at(8), 1.1);
}

TEST(Beside, OfATimeNeverFallsBelowZero) {
  Beside factor;
  factor.set(2, 0.4);  // two short epochs beside other work: a line would be at -0.2 for four
  EXPECT_LT(factor.at(4), 0);
  EXPECT_EQ(factor.of_time_at(2), 0.4);
  EXPECT_NEAR(factor.of_time_at(1.5), 0.7, 1e-12);
  // As steep as the line where it begins: 0.6 / ln 2 for each unit of ln N.
  EXPECT_NEAR(factor.of_time_at(2.002), factor.at(2.002), 1e-6);
  EXPECT_NEAR(factor.of_time_at(4), 0.4 * std::exp(-1.5), 1e-12);
  EXPECT_GT(factor.of_time_at(64), 0);
  Beside grows;
  grows.set(2, 1.2);
  EXPECT_EQ(grows.of_time_at(8), grows.at(8));
}

TEST(Predictor, ShortNoisyEpochsOnTwoRanksStillHaveAStepOnMore) {
  PredictionCase of = world_case("mirrored", false, {});
  of.on_one_machine = true;
  of = without(without(of, 4), 3);
  for (EpochLeg& leg : of.legs) {
    const double less = 0.7 * leg.launches[0].compute_seconds;
    leg.launches[0].compute_seconds -= less;
    leg.launches[0].seconds -= less;
  }
  const Predictor predictor(of);
  EXPECT_GT(predictor.contention({4, 4}), 0);
  EXPECT_GT(predictor.forecast({{4, 4}}).step_seconds, 0);
}

}  // namespace
}  // namespace scalebench::prediction_test
