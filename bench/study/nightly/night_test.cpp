// SPDX-License-Identifier: Apache-2.0
// A night's cells out of rows: efficiency from both times of one run, and which launches would have
// to run again to measure a suspect.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "bench/record/file.hpp"
#include "bench/study/nightly/history.hpp"
#include "bench/study/nightly/measure.hpp"
#include "bench/study/nightly/report.hpp"
#include "bench/study/run/rerun.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

Cell epoch(const std::string& sync, int ranks, std::vector<double> seconds) {
  const std::string key = fmt::format("epoch/{}/{}", sync, ranks);
  Cell cell{key, CellFamily::epoch, ResultRow(epoch_schema()), {}, {}, "ok", ""};
  cell.row.set("case_id", sync).set("origin", "measured").set("gradient_sync", sync);
  cell.row.set("status", "ok").set("model", "mlp").set("scaling", "strong");
  cell.row.set("global_batch", 64).set("epochs", 1);
  cell.row.set("ranks", ranks).set("samples", 1000).set("share_of", 1);
  cell.seconds = std::move(seconds);
  cell.rounds.resize(cell.seconds.size());
  std::iota(cell.rounds.begin(), cell.rounds.end(), 0);
  return cell;
}

TEST(NightCells, EfficiencyIsPairedByRound) {
  const auto cells = efficiency_cells({epoch("one_device", 1, {10, 20, 12}), epoch("none", 1, {9}),
                                       epoch("mirrored", 2, {6.25, 12.5, 8})});
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].metric, "efficiency");
  // The second round was slow for both: 0.8 0.8 0.75.
  EXPECT_NEAR(cells[0].value, 0.8, 1e-12);
  EXPECT_NEAR(cells[0].y(), std::log(0.8), 1e-12);
  EXPECT_EQ(cells[0].base_key, "epoch/one_device/1/seconds");
}

TEST(NightCells, WeakScalingHasTheBaseOfScalingCsv) {
  // Two ranks of 320 images each: H is the run of 320, not that of all 640.
  std::vector<Cell> cells{epoch("one_device", 1, {10}), epoch("one_device", 1, {18}),
                          epoch("mirrored", 2, {11})};
  cells[1].key += "/640";
  for (Cell& cell : cells) cell.row.set("scaling", "weak").set("batch", 32).set("samples", 640);
  cells[0].row.set("samples", 320);
  const auto found = efficiency_cells(cells);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].base_key, "epoch/one_device/1/seconds");
  EXPECT_NEAR(found[0].value, 10.0 / 11, 1e-12);
}

TEST(NightCells, OfOneLabelAreNamedApartAndMeantByItAsWell) {
  std::vector<Cell> cells{epoch("one_device", 1, {10}), epoch("mirrored", 2, {6})};
  for (std::size_t i : {0, 1}) {
    Cell other = cells[i];
    other.key += "/other";
    other.row.set("memory_format", "channels_last");
    cells.push_back(std::move(other));
  }
  const auto night = efficiency_cells(cells);
  ASSERT_EQ(night.size(), 2U);
  EXPECT_EQ(night[0].label, "epoch mlp mirrored strong N=2");
  EXPECT_EQ(night[1].label, "epoch mlp mirrored strong N=2 channels_last");
  for (const NightCell& cell : night) EXPECT_TRUE(matches("epoch mlp mirrored strong N=2", cell));
  EXPECT_FALSE(matches("*channels_last", night[0]));
  EXPECT_TRUE(matches("*channels_last", night[1]));
}

TEST(NightCells, ALaunchThatFailedLeavesItsRoundOutOfTheEfficiency) {
  Cell leg = epoch("mirrored", 2, {6.25, 7.5});
  leg.rounds = {0, 2};  // the second one failed
  const auto cells = efficiency_cells({epoch("one_device", 1, {10, 20, 12}), leg});
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].launches, (std::vector<double>{0.8, 0.8}));
  EXPECT_EQ(cells[0].note, "");
}

TEST(NightCells, EfficiencyWithoutACommonRoundIsThatOfTheMedians) {
  Cell leg = epoch("mirrored", 2, {5, 7});
  leg.rounds = {7, 8};
  const auto cells = efficiency_cells({epoch("one_device", 1, {10, 11, 12}), leg});
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_NEAR(cells[0].value, 11.0 / 12.0, 1e-12);
  EXPECT_TRUE(cells[0].launches.empty());
}

TEST(NightCells, NumbersOfAnotherOriginAreNoBase) {
  Cell leg = epoch("mirrored", 2, {5});
  leg.row.set("origin", "emulated");
  EXPECT_TRUE(efficiency_cells({epoch("one_device", 1, {10}), leg}).empty());
  EXPECT_TRUE(efficiency_cells({epoch("mirrored", 2, {5})}).empty());
}

std::vector<PlannedLaunch> plan_of(const std::vector<std::string>& names) {
  std::vector<PlannedLaunch> plan;
  for (int round = 0; round < 2; ++round) {
    for (const std::string& name : names) {
      PlannedLaunch& launch = plan.emplace_back();
      launch.number = static_cast<int>(plan.size());
      launch.round = round;
      launch.name = name;
      launch.guess_seconds = name == "long" ? 100 : 1;
    }
  }
  return plan;
}

TEST(NightRecord, SaysWhyNothingWasSlowedOnPurpose) {
  NightRecord night;
  night.steps = {{"sweep", "ok", 1, ""}, {"canary", "skipped", {}, "nothing is large enough"}};
  const auto canary = canary_that_was_not(night);
  ASSERT_TRUE(canary);
  EXPECT_EQ(canary->why_not, "nothing is large enough (--no-canary: a night without it)");
  night.steps[1].note = std::string(kNoCanary);
  EXPECT_FALSE(canary_that_was_not(night)) << "as it was told";
  // Judged again: what its record says.
  night.steps.clear();
  night.before = {{"finished_utc", "2026-01-02T03:04:05Z"},
                  {"steps", {{{"name", "canary"}, {"status", "skipped"}, {"note", "why"}}}}};
  EXPECT_TRUE(canary_that_was_not(night));
  Manifest run;
  run.finished_utc = "2026-01-02T03:00:00Z";
  EXPECT_EQ(finished_in(night.before, run), "2026-01-02T03:04:05Z");
  EXPECT_EQ(finished_in(nullptr, run), "2026-01-02T03:00:00Z")
      << "the measuring's end, if no more is known";
}

TEST(NightRecord, QuotesTheStartOfAFailedLaunchThatCounts) {
  const TemporaryFolder folder;
  StoredRun run;
  run.folder = folder.path();
  for (const int attempt : {1, 2, 3}) {
    const auto launch = launch_folder(run.folder, 4, "allreduce-n2", attempt);
    std::filesystem::create_directories(launch);
    write_file_atomically(launch / "stderr.log", fmt::format("start {}\n", attempt));
    if (attempt == 2) run.folders[4] = {4, "allreduce-n2", attempt, launch};
  }
  for (const int number : {4, 5}) {
    LaunchRecord& record = run.manifest.launches.emplace_back();
    record.number = number;
    record.program = "bench_allreduce";
    record.status = "failed";
  }
  const std::vector<FailedLaunch> failed = failed_launches(run);
  ASSERT_EQ(failed.size(), 2U);
  EXPECT_EQ(failed[0].name, "allreduce-n2");
  EXPECT_EQ(failed[0].stderr_tail, "start 2\n");
  EXPECT_EQ(failed[1].name, "bench_allreduce") << "it has no folder";
}

TEST(Publish, RefusesTheFolderOfAnotherStudy) {
  const TemporaryFolder night, to;
  night.write(kNightRecord, R"({"study": "quick"})");
  night.write("scalebench.prom", "one");
  EXPECT_EQ(publish(night.path(), to.path()), 2U);
  night.write("scalebench.prom", "two");
  EXPECT_EQ(publish(night.path(), to.path()), 2U) << "the night after";
  night.write(kNightRecord, R"({"study": "full"})");
  EXPECT_EQ(
      message_of<UsageError>([&] { publish(night.path(), to.path()); }),
      to.path().string() + " has a night of study 'quick'; each study needs a folder of its own");
  EXPECT_EQ(read_file(to / "scalebench.prom"), "two");
}

TEST(RerunPlan, HoldsTheSuspectsAndTwoControls) {
  const std::map<std::string, std::set<std::string>> cells{{"many", {"a", "b", "c"}},
                                                           {"one", {"d"}},
                                                           {"long", {"e"}},
                                                           {"short", {"f"}},
                                                           {"brief", {"g"}}};
  const auto plan = plan_of({"many", "one", "long", "short", "brief"});
  const auto names = [&](const std::set<std::string>& suspects) {
    std::vector<std::string> found;
    for (const PlannedLaunch& launch : rerun_plan(plan, cells, suspects)) {
      EXPECT_EQ(launch.number, static_cast<int>(found.size()) + 1);
      found.push_back(launch.name);
    }
    return found;
  };
  EXPECT_EQ(names({"a"}), (std::vector<std::string>{"many", "many"})) << "its own controls";
  EXPECT_EQ(names({"d"}), (std::vector<std::string>{"many", "one", "many", "one"}));
  EXPECT_EQ(
      names({"a", "b", "c", "d"}),
      (std::vector<std::string>{"many", "one", "short", "brief", "many", "one", "short", "brief"}))
      << "the shortest others";
  EXPECT_TRUE(names({"nobody"}).empty());
  // What is wanted for itself has no controls.
  const auto wanted = plan_holding(plan, cells, {"d"});
  ASSERT_EQ(wanted.size(), 2U);
  for (const PlannedLaunch& launch : wanted) EXPECT_EQ(launch.name, "one");
  EXPECT_EQ(wanted[1].number, 2);
}

std::string sides(const std::vector<PlannedLaunch>& plan) {
  std::string letters;
  for (const PlannedLaunch& launch : plan) letters += launch.name.back();
  return letters;
}

TEST(AaPlan, DrawsWhichOfEachPairComesFirst) {
  StudyConfig config;
  config.launches = 20;
  config.ranks = {2};
  config.allreduce.emplace();
  const std::vector<PlannedLaunch> plan = aa_plan(config, {.devices = 2});
  ASSERT_EQ(plan.size(), 40U);
  const std::string drawn = sides(plan);
  int b_first = 0;
  for (std::size_t i = 0; i < drawn.size(); i += 2) {
    EXPECT_NE(drawn[i], drawn[i + 1]) << "a pair is an A and a B";
    b_first += drawn[i] == 'b' ? 1 : 0;
  }
  EXPECT_GT(b_first, 3);
  EXPECT_LT(b_first, 17);
  EXPECT_EQ(sides(aa_plan(config, {.devices = 2})), drawn);
  config.seed = 2;
  EXPECT_NE(sides(aa_plan(config, {.devices = 2})), drawn);
  EXPECT_NE(plan[0].arguments, plan[1].arguments) << "each its own shuffle";
}

}  // namespace
}  // namespace scalebench
