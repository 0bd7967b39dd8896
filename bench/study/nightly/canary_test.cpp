// SPDX-License-Identifier: Apache-2.0
// What a slow-down on purpose says of a gate that sees it, and of one that does not.
#include "bench/study/nightly/canary.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/study/nightly/made_up_nights_test.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kNights = 12;

GateInput nights() { return input_of(kNights); }

/// Of some cells of tonight, so many times as long.
Night slowed(std::vector<std::size_t> cells, double times) {
  const Night all = night_of(kNights - 1, times);
  Night some{run_id(kNights - 1) + "-canary", all.started_utc, {}};
  for (const std::size_t c : cells) some.cells.push_back(all.cells[c]);
  return some;
}

TEST(Canary, IsCaughtWhereTheSlowDownIsThere) {
  const GateInput input = nights();
  const auto canary = canary_in(input, gate(input), slowed({2, 3, 5}, 1 / (1 - kCanaryDrop)), {});
  ASSERT_TRUE(canary);
  EXPECT_EQ(canary->cells, 3U);
  EXPECT_EQ(canary->caught, 3U);
  EXPECT_GT(canary->expected, 2.9);
  EXPECT_NEAR(canary->drop, kCanaryDrop, 1e-9);
  EXPECT_EQ(canary->range(), "15 %");
}

TEST(Canary, SaysWhatWasPutInAndNotWhatWasAskedFor) {
  const GateInput input = nights();
  const GateReport report = gate(input);
  Night some = slowed({2, 3, 5}, 1);
  some.cells[0].value *= 1 / (1 - 0.12);
  some.cells[1].value *= 1 / (1 - 0.20);
  some.cells[2].value *= 1 / (1 - 0.33);
  auto canary = canary_in(input, report, some, {});
  ASSERT_TRUE(canary);
  EXPECT_EQ(canary->cells, 2U) << "one took away too much to prove anything";
  EXPECT_EQ(canary->beyond, 1U);
  EXPECT_EQ(canary->range(), "12 to 20 %");
  EXPECT_NEAR(canary->drop, 0.16, 1e-9);
  // Of hardly anything little is expected.
  some = slowed({2, 3, 5}, 1.001);
  canary = canary_in(input, report, some, {});
  ASSERT_TRUE(canary);
  EXPECT_EQ(canary->cells, 3U);
  EXPECT_LT(canary->expected, 0.1);
  EXPECT_EQ(canary->caught, 0U);
  canary = canary_in(input, report, slowed({2, 3, 5}, 1.5), {});
  ASSERT_TRUE(canary);
  EXPECT_EQ(canary->why_not, "it took away more than 25 % in all of its 3 cells");
}

TEST(Canary, WithoutAValueIsBlindAndSaysWhy) {
  const GateInput input = nights();
  const GateReport report = gate(input);
  Night some = slowed({2, 3}, 1.18);
  for (NightCell& cell : some.cells) cell.value = std::nan("");
  for (const Night& night : {some, slowed({}, 1.18)}) {
    const auto canary = canary_in(input, report, night, {});
    ASSERT_TRUE(canary);
    EXPECT_EQ(canary->cells, 0U);
    const NightVerdict verdict = verdict_of(report, {.canary = canary}, {});
    EXPECT_EQ(verdict.word, "BLIND");
    EXPECT_EQ(verdict.exit_code, 3);
    EXPECT_THAT(verdict.summary, HasSubstr("it has no value that can be judged"));
  }
}

TEST(Canary, IsMissedWhereNothingWasSlowedDown) {
  const GateInput input = nights();
  const auto canary = canary_in(input, gate(input), slowed({2, 3, 5}, 1), {});
  ASSERT_TRUE(canary);
  EXPECT_EQ(canary->cells, 3U);
  EXPECT_EQ(canary->caught, 0U);
}

TEST(Canary, IsJudgedByRoundsWhereTonightIs) {
  GateInput input = nights();
  BesideNight& beside = input.beside.emplace();
  beside.run_id = run_id(0);
  beside.accepted = night_of(kNights - 1);
  for (const NightCell& cell : input.tonight.cells) {
    beside.ratios[cell.key] = {1, 1.01, 0.99, 1.002, 0.998, 1.005};
  }
  const std::string key = input.tonight.cells[2].key;
  const GateReport report = gate(input);
  const CellRatios slow{{key, {1.17, 1.18, 1.19, 1.175, 1.18, 1.17}}};
  const auto canary = canary_in(input, report, slowed({2, 3}, 1.18), slow);
  ASSERT_TRUE(canary);
  // The other one has no rounds, so that nothing can be said of it.
  EXPECT_EQ(canary->cells, 1U);
  EXPECT_EQ(canary->caught, 1U);
  EXPECT_NEAR(canary->drop, 1 - 1 / 1.1775, 1e-9) << "of the rounds";
  const auto missed = canary_in(input, report, slowed({2}, 1.18), {{key, beside.ratios.at(key)}});
  ASSERT_TRUE(missed);
  EXPECT_EQ(missed->caught, 0U);
}

TEST(Canary, SaysNothingOfNightsThatJudgeNothing) {
  GateInput input = nights();
  input.history.nights.resize(2);
  EXPECT_FALSE(canary_in(input, gate(input), slowed({2}, 1.18), {}));
}

/// A sweep in which one allreduce launch has measured tonight's first cells, of so many bytes.
StoredRun sweep_of(const PlannedLaunch& launch, int bytes = 4 << 20) {
  StoredRun sweep;
  LaunchRows rows{.launch = launch.number, .cases = {}, .samples = {}};
  for (std::size_t c = 0; c < 2; ++c) {
    ResultRow& row = rows.cases.emplace_back(allreduce_schema());
    row.set("case_id", fmt::format("{:012x}", c)).set("origin", "measured").set("status", "ok");
    row.set("algorithm", "ring").set("transport", "mpi").set("dtype", "float").set("op", "sum");
    row.set("ranks", 2).set("nodes", 1).set("size_bytes", bytes).set("seconds_median", 1.0);
  }
  sweep.launches["allreduce.csv"].push_back(std::move(rows));
  return sweep;
}

TEST(CanaryPlan, SlowsAllRoundsOfALaunchAndLeavesTheOthersOut) {
  PlannedLaunch launch;
  launch.number = 1;
  launch.name = "allreduce-n2";
  launch.program = "bench_allreduce";
  launch.ranks = 2;
  launch.arguments = {"-b", "1KiB"};
  PlannedLaunch other = launch;
  other.name = "throughput-mlp-n2";
  other.program = "bench_throughput";
  other.number = 2;
  std::vector<PlannedLaunch> plan{launch, other, launch, other};
  for (std::size_t i = 0; i < plan.size(); ++i) {
    plan[i].number = static_cast<int>(i) + 1;
    plan[i].round = static_cast<int>(i) / 2;
  }
  const GateInput input = nights();
  const CanaryPlan canary = canary_plan(sweep_of(launch), plan, gate(input));
  EXPECT_EQ(canary.why_not, "");
  ASSERT_EQ(canary.slowed.size(), 2U);
  EXPECT_THAT(canary.as_is[1].arguments, ElementsAre("-b", "1KiB"));
  EXPECT_THAT(canary.slowed[1].arguments, ElementsAre("-b", "1KiB", "--inject", "slower=0.176471"));
  EXPECT_EQ(canary.slowed[1].round, 1);
  EXPECT_EQ(canary.slowed[1].number, 2);
}

/// The launch of two cells that a canary takes, if it does.
std::string why_not(const PlannedLaunch& launch, int bytes) {
  const GateInput input = nights();
  return canary_plan(sweep_of(launch, bytes), {launch}, gate(input)).why_not;
}

TEST(CanaryPlan, LeavesOutWhatIsNotSlowedByAKnownShare) {
  PlannedLaunch launch;
  launch.number = 1;
  launch.name = "allreduce-n2";
  launch.program = "bench_allreduce";
  launch.ranks = 2;
  EXPECT_EQ(why_not(launch, 1 << 20), "");
  EXPECT_THAT(why_not(launch, 1 << 10), HasSubstr("no allreduce of 1 MiB and more"));
  launch.arguments = {"-G", "1"};
  EXPECT_THAT(why_not(launch, 1 << 20), HasSubstr("no allreduce"))
      << "graphs cannot be slowed down";
}

TEST(CanaryPlan, MakesEveryStepOfAnEpochLongerByItsOwnShare) {
  GateInput input = nights();
  const std::string key = fmt::format("epoch/{:012x}/1", 0);
  for (Night& night : input.history.nights) night.cells[0].key = key + "/seconds";
  input.tonight.cells[0].key = key + "/seconds";
  PlannedLaunch launch;
  launch.number = 1;
  launch.name = "epoch-mlp-n1";
  launch.program = "bench_epoch";
  StoredRun sweep;
  LaunchRows rows{.launch = 1, .cases = {}, .samples = {}};
  ResultRow& row = rows.cases.emplace_back(epoch_schema());
  row.set("case_id", fmt::format("{:012x}", 0)).set("origin", "measured").set("status", "ok");
  row.set("model", "mlp").set("gradient_sync", "one_device").set("ranks", 1).set("nodes", 1);
  row.set("rank", "all").set("samples", 1280).set("global_batch", 128);
  row.set("seconds_median", 2.0);
  sweep.launches["epoch.csv"].push_back(std::move(rows));
  CanaryPlan canary = canary_plan(sweep, {launch}, gate(input));
  ASSERT_EQ(canary.why_not, "");
  // 17.6471 % of the 0.2 s of each of ten steps.
  EXPECT_THAT(canary.slowed.at(0).arguments, ElementsAre("--inject", "sleep=0.035294118:0"));
  launch.ranks = 2;
  EXPECT_NE(canary_plan(sweep, {launch}, gate(input)).why_not, "") << "others wait for one rank";
}

TEST(CanaryPlan, SaysWhyThereIsNone) {
  GateInput input = nights();
  input.history.nights.resize(2);
  EXPECT_THAT(canary_plan({}, {}, gate(input)).why_not, HasSubstr("would show a drop of 10 %"));
}

}  // namespace
}  // namespace scalebench
