// SPDX-License-Identifier: Apache-2.0
// Made-up launches whose medians, intervals and rates are known by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "bench/measure/statistics.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kBytes = 4e9;

/// What a launch says about one case, with the repetitions behind it.
struct Said {
  std::string case_id = "c0ffee";
  std::string status = "ok";
  std::vector<double> seconds{};
  std::string converged = "1";
  std::string note{};
};

ResultRow sample(const std::string& case_id, int ranks, const std::string& rank, double seconds) {
  ResultRow row(samples_schema());
  return row.set("case_id", case_id).set("ranks", ranks).set("rank", rank).set("seconds", seconds);
}

/// One launch of allreduce cases on two ranks.
LaunchRows launch_of(int number, const std::vector<Said>& cases) {
  LaunchRows launch{number, {}, {}};
  for (const Said& one : cases) {
    ResultRow& row = launch.cases.emplace_back(allreduce_schema());
    row.set("case_id", one.case_id).set("status", one.status).set("note", one.note);
    row.set("ranks", 2).set("size_bytes", kBytes).set("converged", one.converged);
    for (const double seconds : one.seconds) {
      launch.samples.push_back(sample(one.case_id, 2, "", seconds));
    }
    if (one.seconds.empty()) continue;
    row.set("seconds_median", median_of(one.seconds));
  }
  return launch;
}

std::vector<ResultRow> joined(const std::vector<LaunchRows>& launches) {
  return rows_of(cells_of(launches));
}

/// The only case of launches whose repetitions are these.
ResultRow join_of(const std::vector<std::vector<double>>& launches) {
  std::vector<LaunchRows> rows;
  for (const auto& seconds : launches) {
    rows.push_back(launch_of(static_cast<int>(rows.size()) + 1, {{.seconds = seconds}}));
  }
  const std::vector<ResultRow> all = joined(rows);
  EXPECT_EQ(all.size(), 1U);
  return all.at(0);
}

TEST(OverLaunches, TakesTheMedianOfLaunchMediansNotOfAllRepetitions) {
  // The third launch has most of the repetitions; that gives it no more say.
  const ResultRow row = join_of({{1, 1, 1}, {2, 2, 2}, {9, 9, 9, 9, 9, 9, 9, 9, 9}});
  EXPECT_EQ(row.get("seconds_median"), "2");
  EXPECT_EQ(row.get("launches"), "3");
  EXPECT_EQ(row.get("repetitions"), "15");
  EXPECT_EQ(row.get("note"), "");
}

TEST(OverLaunches, NeverMixesNumbersOfNodes) {
  LaunchRows on_one = launch_of(1, {{.seconds = {1, 1, 1}}});
  LaunchRows on_two = launch_of(2, {{.seconds = {5, 5, 5}}});
  on_one.cases[0].set("nodes", 1);
  on_two.cases[0].set("nodes", 2);
  const std::vector<ResultRow> rows = joined({on_one, on_two});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].get("seconds_median"), "1");
  EXPECT_EQ(rows[1].get("seconds_median"), "5");
}

TEST(OverLaunches, HasNoMeanToTheTargetWhereALaunchNeverReachedIt) {
  const auto row_of = [](const std::vector<std::string>& launches) {
    std::vector<LaunchRows> rows;
    for (const std::string& epochs : launches) {
      LaunchRows& launch = rows.emplace_back();
      ResultRow& row = launch.cases.emplace_back(epoch_schema());
      row.set("case_id", "c0ffee").set("status", "ok").set("ranks", 2);
      row.set("epochs_to_target", epochs);
      launch.samples.push_back(sample("c0ffee", 2, "", 1));
    }
    return rows_of(cells_of(rows)).at(0);
  };
  EXPECT_EQ(row_of({"4", "6", "8"}).get("epochs_to_target"), "6");
  EXPECT_EQ(row_of({"4", "5"}).get("epochs_to_target"), "4.5");
  EXPECT_EQ(row_of({"4", "", "8"}).get("epochs_to_target"), "");
  EXPECT_EQ(row_of({"4", "", "8"}).get("note"), "2 of 3 launches reached the target");
  EXPECT_EQ(row_of({"", ""}).get("note"), "") << "as that of a training without a target";
}

TEST(OverLaunches, KnowsTheEnergyThatAllLaunchesKnow) {
  std::vector<LaunchRows> launches;
  const auto add = [&](const std::string& joules) {
    LaunchRows& launch = launches.emplace_back();
    launch.launch = static_cast<int>(launches.size());
    ResultRow& row = launch.cases.emplace_back(epoch_schema());
    row.set("case_id", "c0ffee").set("status", "ok").set("ranks", 2).set("joules", joules);
    launch.samples.push_back(sample("c0ffee", 2, "", 1));
  };
  const auto joules = [&] { return rows_of(cells_of(launches)).at(0).get("joules"); };
  add("50");
  add("70");
  EXPECT_EQ(joules(), "60");
  add("");
  EXPECT_EQ(joules(), "");
}

TEST(OverLaunches, TakesTheExtremesOfAllRepetitions) {
  const ResultRow row = join_of({{5, 6, 7}, {4, 6, 8}, {3, 6, 6, 6, 6, 6, 30}});
  EXPECT_EQ(row.get("seconds_min"), "3");
  EXPECT_EQ(row.get("seconds_max"), "30");
  EXPECT_EQ(row.get("seconds_p99"), "") << "of so few";
}

TEST(OverLaunches, GivesALaunchWithMoreRepetitionsNoMoreSayInMeanAndPercentiles) {
  std::vector<double> slow(768, 3.0);
  slow.front() = 2.9;
  const ResultRow row = join_of({std::vector<double>(54, 1.0), std::vector<double>(54, 1.0), slow});
  EXPECT_EQ(row.get("seconds_median"), "1");
  EXPECT_EQ(row.get("seconds_mean"), "1") << "of the pooled repetitions 2.75";
  EXPECT_EQ(row.get("seconds_p95"), "1");
  EXPECT_EQ(row.get("seconds_p99"), "3") << "of the launch that has 100 of them";
  EXPECT_EQ(row.get("seconds_max"), "3");
}

TEST(OverLaunches, HasNoIntervalWithOneLaunch) {
  const ResultRow row = join_of({{1, 2, 3, 4, 5, 6, 7, 8}});
  EXPECT_EQ(row.get("seconds_ci_low"), "");
  EXPECT_EQ(row.get("seconds_ci_high"), "");
}

TEST(OverLaunches, CallsTheIntervalARangeBelowSixLaunches) {
  const ResultRow row = join_of({{1, 10}, {2, 2}, {3, 3}, {4, 4}, {5, 5}});
  EXPECT_EQ(row.get("seconds_ci_low"), "2") << "of launch medians: 5.5 2 3 4 5";
  EXPECT_EQ(row.get("seconds_ci_high"), "5.5");
  EXPECT_EQ(row.get("seconds_median"), "4");
}

TEST(OverLaunches, HasAnIntervalFromSixLaunches) {
  const ResultRow six = join_of({{1}, {2}, {3}, {4}, {5}, {6}});
  EXPECT_NEAR(number_in(six, "seconds_ci_low"), 1 + 5 / 14.0, 1e-12) << "the ends cover 96.9 %";
  EXPECT_NEAR(number_in(six, "seconds_ci_high"), 6 - 5 / 14.0, 1e-12);
  const ResultRow nine = join_of({{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}});
  EXPECT_GT(number_in(nine, "seconds_ci_low"), 2) << "the 2nd to 8th of 9 cover 96.1 %";
  EXPECT_LT(number_in(nine, "seconds_ci_low"), 2.5);
  EXPECT_LT(number_in(nine, "seconds_ci_high"), 8);
}

TEST(OverLaunches, MakesRatesFromTheTimeLast) {
  const ResultRow row = join_of({{1}, {2}, {5}});
  EXPECT_DOUBLE_EQ(number_in(row, "busbw_gb_per_s"), 2)
      << "4 GB in 2 s, not a mean of rates; 2(p-1)/p is 1 on two ranks";
}

TEST(OverLaunches, ConvergedOnlyWhereEveryLaunchDid) {
  EXPECT_EQ(joined({launch_of(1, {{.seconds = {1}}}), launch_of(2, {{.seconds = {1}}})})[0].get(
                "converged"),
            "1");
  EXPECT_EQ(joined({launch_of(1, {{.seconds = {1}}}),
                    launch_of(2, {{.seconds = {1}, .converged = "0"}})})[0]
                .get("converged"),
            "0");
}

TEST(OverLaunches, OneWrongSumVoidsTheCase) {
  const Said wrong{.status = "wrong", .note = "17 wrong elements"};
  const auto rows = joined({launch_of(1, {{.seconds = {1, 2, 3}}}), launch_of(2, {wrong}),
                            launch_of(3, {{.seconds = {1, 2, 3}}})});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].get("status"), "wrong");
  EXPECT_EQ(rows[0].get("note"), "17 wrong elements");
  EXPECT_EQ(rows[0].get("seconds_median"), "") << "no timing for a wrong result";
  EXPECT_EQ(rows[0].get("busbw_gb_per_s"), "");
}

TEST(OverLaunches, SaysThatSomeLaunchesDidNotMeasureIt) {
  const auto rows = joined({launch_of(1, {{.status = "failed", .note = "no memory"}}),
                            launch_of(2, {{.seconds = {2}}}), launch_of(3, {{.seconds = {4}}})});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].get("status"), "ok");
  EXPECT_EQ(rows[0].get("note"), "2 of 3 launches measured it");
  EXPECT_EQ(rows[0].get("launches"), "2");
  EXPECT_EQ(rows[0].get("seconds_median"), "3");
}

TEST(OverLaunches, KeepsWhatARowSaidWhereALaunchDidNotMeasureIt) {
  const auto rows = joined({launch_of(1, {{.status = "failed", .note = "no memory"}}),
                            launch_of(2, {{.seconds = {2}, .note = "not the link's rate"}})});
  EXPECT_EQ(rows.at(0).get("note"), "not the link's rate; 1 of 2 launches measured it");
}

TEST(OverLaunches, KeepsTheReasonOfWhatNoLaunchMeasured) {
  const Said skipped{.status = "skipped", .note = "needs a device"};
  const auto rows = joined({launch_of(1, {skipped}), launch_of(2, {skipped})});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].get("status"), "skipped");
  EXPECT_EQ(rows[0].get("note"), "needs a device");
}

TEST(OverLaunches, KeepsCasesApartInTheOrderOfTheirAppearance) {
  const auto rows = joined({launch_of(1, {{.case_id = "bb", .seconds = {1}}}),
                            launch_of(2, {{.case_id = "aa", .seconds = {5}}}),
                            launch_of(3, {{.case_id = "bb", .seconds = {3}}})});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].get("case_id"), "bb");
  EXPECT_EQ(rows[0].get("seconds_median"), "2");
  EXPECT_EQ(rows[1].get("case_id"), "aa");
  EXPECT_EQ(rows[1].get("seconds_median"), "5");
}

TEST(OverLaunches, NamesTheRankThatWasLastMostOften) {
  std::vector<LaunchRows> launches;
  for (const char* slowest : {"0", "1", "1"}) {
    launches.push_back(launch_of(1, {{.seconds = {1}}}));
    launches.back().cases[0].set("slowest_rank", slowest);
  }
  EXPECT_EQ(joined(launches)[0].get("slowest_rank"), "1");
}

/// An epoch of so many seconds, a quarter of which waits; as many seconds of input as its number.
LaunchRows epoch_launch(int number, double seconds) {
  LaunchRows launch{number, {}, {}};
  ResultRow& row = launch.cases.emplace_back(epoch_schema());
  row.set("case_id", "beef").set("status", "ok").set("ranks", 2).set("seconds", seconds);
  row.set("input_seconds", number).set("transfer_seconds", 0.5);
  row.set("wait_static_seconds", 0.25 * seconds).set("wait_jitter_seconds", 0.125);
  launch.samples.push_back(sample("beef", 2, "", seconds));
  return launch;
}

ResultRow epoch_over(const std::vector<LaunchRows>& launches) {
  return rows_of(cells_of(launches)).at(0);
}

TEST(OverLaunches, TakesMeansOfEpochsAndOfTheirParts) {
  const ResultRow all = epoch_over({epoch_launch(1, 9), epoch_launch(2, 4), epoch_launch(3, 5)});
  EXPECT_EQ(all.get("seconds"), "6");
  EXPECT_EQ(all.get("seconds_ci_high"), "9") << "the range of three";
  EXPECT_EQ(all.get("input_seconds"), "2");
  EXPECT_EQ(all.get("wait_static_seconds"), "1.5");
  EXPECT_EQ(all.get("transfer_seconds"), "0.5");
}

TEST(OverLaunches, SaysWhyPartsAreNotKnown) {
  std::vector<LaunchRows> launches{epoch_launch(1, 9), epoch_launch(2, 4)};
  ResultRow& joined = launches[1].cases[0];
  joined.set("transfer_seconds", 2).set("wait_static_seconds", "").set("wait_jitter_seconds", "");
  joined.set("note", "known together only");
  const ResultRow all = epoch_over(launches);
  EXPECT_EQ(all.get("wait_static_seconds"), "");
  EXPECT_DOUBLE_EQ(number_in(all, "transfer_seconds"), (0.5 + 2.25 + 0.125 + 2) / 2)
      << "with the waiting of the launch that knows it";
  EXPECT_EQ(all.get("note"), "known together only");
  joined.set("transfer_seconds", "");
  EXPECT_EQ(epoch_over(launches).get("transfer_seconds"), "") << "nothing is known of one launch";
}

TEST(OverLaunches, NamesTheLastRankOfAnEpochWhereAllLaunchesDo) {
  std::vector<LaunchRows> launches{epoch_launch(1, 9), epoch_launch(2, 4)};
  for (LaunchRows& launch : launches) launch.cases[0].set("last_rank", 1);
  EXPECT_EQ(epoch_over(launches).get("last_rank"), "1");
  launches[1].cases[0].set("last_rank", 0);
  EXPECT_EQ(epoch_over(launches).get("last_rank"), "");
}

TEST(OverLaunches, TakesTheMedianOfAccuracies) {
  std::vector<LaunchRows> launches{epoch_launch(1, 9), epoch_launch(2, 4), epoch_launch(3, 5)};
  for (LaunchRows& launch : launches) {
    launch.cases[0].set("test_accuracy", 0.9 + 0.01 * launch.launch);
  }
  EXPECT_DOUBLE_EQ(number_in(epoch_over(launches), "test_accuracy"), 0.92);
}

/// One launch of bench_throughput: the seconds of each rank's steps, 10 images a step.
LaunchRows throughput_launch(int number, const std::vector<std::vector<double>>& ranks) {
  LaunchRows launch{number, {}, {}};
  const int size = static_cast<int>(ranks.size());
  double images_per_s = 0, slowest = 0;
  const auto add_row = [&](const std::string& rank, double seconds, double rate) {
    ResultRow& row = launch.cases.emplace_back(throughput_schema());
    row.set("case_id", "beef").set("status", "ok").set("ranks", size).set("rank", rank);
    row.set("seconds_median", seconds).set("images_per_s", rate);
  };
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const double median = median_of(ranks[rank]);
    add_row(std::to_string(rank), median, 10 / median);
    images_per_s += 10 / median;
    slowest = std::max(slowest, median);
    for (const double seconds : ranks[rank]) {
      launch.samples.push_back(sample("beef", size, std::to_string(rank), seconds));
    }
  }
  add_row("all", slowest, images_per_s);
  return launch;
}

TEST(OverLaunches, TakesTheSlowestRanksStepForAllOfThem) {
  // The slowest rank is another one in each launch.
  const auto rows = rows_of(cells_of({throughput_launch(1, {{1, 1, 1}, {4, 4, 4}}),
                                      throughput_launch(2, {{6, 6, 6}, {2, 2, 2}})}));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].get("seconds_median"), "3.5") << "rank 0: 1 and 6";
  EXPECT_EQ(rows[1].get("seconds_median"), "3") << "rank 1: 4 and 2";
  EXPECT_EQ(rows[2].get("rank"), "all");
  EXPECT_EQ(rows[2].get("seconds_median"), "5") << "the slowest: 4 and 6";
}

TEST(OverLaunches, TakesTheMedianOfLaunchesOwnRatesForAllRanks) {
  // 10 images a step: 12.5, 6.67 and 15 images/s of both ranks. From the first launch's images and
  // another's time it would be 50 / 3.
  const auto rows = rows_of(cells_of({throughput_launch(1, {{1, 1, 1}, {4, 4, 4}}),
                                      throughput_launch(2, {{3, 3, 3}, {3, 3, 3}}),
                                      throughput_launch(3, {{2, 2, 2}, {1, 1, 1}})}));
  const ResultRow& all = rows.at(2);
  EXPECT_EQ(all.get("rank"), "all");
  EXPECT_DOUBLE_EQ(number_in(all, "images_per_s"), 12.5);
  EXPECT_DOUBLE_EQ(number_in(all, "images_per_s_ci_low"), 20 / 3.0);
  EXPECT_DOUBLE_EQ(number_in(all, "images_per_s_ci_high"), 15);
}

std::vector<ResultRow> related(const std::vector<LaunchRows>& launches) {
  std::vector<Cell> cells = cells_of(launches);
  relate_to_one_rank(cells);
  return rows_of(cells);
}

TEST(RelateToOneRank, IsTheRatioOfTheRatesThatStandBesideIt) {
  // Both of the second round are slow.
  std::vector<LaunchRows> launches{
      throughput_launch(1, {{1, 1, 1}}), throughput_launch(2, {{2, 2, 2}, {1.25, 1.25, 1.25}}),
      throughput_launch(3, {{2, 2, 2}}), throughput_launch(4, {{4, 4, 4}, {2.5, 2.5, 2.5}})};
  for (LaunchRows& launch : launches) launch.round = (launch.launch - 1) / 2;
  const std::vector<ResultRow> rows = related(launches);
  std::vector<double> relative;
  relative.reserve(rows.size());
  for (const ResultRow& row : rows) relative.push_back(number_in(row, "relative_to_one_rank"));
  EXPECT_THAT(relative, ElementsAre(1, 1, 0.5, 0.8, testing::DoubleEq(0.65)));
  EXPECT_EQ(rows[2].get("relative_ci_low"), "0.5");
  EXPECT_EQ(rows[2].get("relative_ci_high"), "0.5");
}

TEST(RelateToOneRank, IsNoMedianOfTheRoundsRatios) {
  // Rates of one rank 10, 5 and 2.5 images/s, of two 10, 20 and 2.5: ratios of rounds 0.5, 2, 0.5.
  std::vector<LaunchRows> launches{
      throughput_launch(1, {{1, 1, 1}}), throughput_launch(2, {{2, 2, 2}, {2, 2, 2}}),
      throughput_launch(3, {{2, 2, 2}}), throughput_launch(4, {{1, 1, 1}, {1, 1, 1}}),
      throughput_launch(5, {{4, 4, 4}}), throughput_launch(6, {{8, 8, 8}, {8, 8, 8}})};
  for (LaunchRows& launch : launches) launch.round = (launch.launch - 1) / 2;
  const std::vector<ResultRow> rows = related(launches);
  const ResultRow& both = rows.back();
  const double beside = number_in(both, "images_per_s") / (2 * number_in(rows[0], "images_per_s"));
  EXPECT_DOUBLE_EQ(number_in(both, "relative_to_one_rank"), beside);
  EXPECT_DOUBLE_EQ(beside, 1) << "10 of both over twice 5";
  const double of_means = (32.5 / 3) / (17.5 / 3 * 2);
  EXPECT_DOUBLE_EQ(number_in(both, "relative_ci_low"), 0.5 / of_means) << "the rounds' around it";
  EXPECT_DOUBLE_EQ(number_in(both, "relative_ci_high"), 2 / of_means);
}

TEST(RelateToOneRank, LeavesTheCellEmptyWithoutASingleRank) {
  const std::vector<LaunchRows> launches{throughput_launch(1, {{1, 1}, {1, 1}})};
  const std::vector<ResultRow> rows = related(launches);
  for (const ResultRow& row : rows) EXPECT_EQ(row.get("relative_to_one_rank"), "");
}

TEST(RowsIn, LeavesATornLastLineOut) {
  const TemporaryFolder folder;
  {
    CsvWriter cases(folder / "allreduce.csv", allreduce_schema().columns);
    cases.append(launch_of(1, {{.case_id = "whole", .seconds = {1}}}).cases[0].cells());
  }
  std::string text = folder.read("allreduce.csv");
  folder.write("allreduce.csv", text + "1,run,torn,measured,o");
  const std::vector<ResultRow> rows = rows_in(folder.path(), allreduce_schema());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].get("case_id"), "whole");
  EXPECT_TRUE(rows_in(folder.path(), samples_schema()).empty()) << "there is no samples.csv";
}

TEST(RowsIn, IsEmptyForALaunchThatWroteNothing) {
  const TemporaryFolder folder;
  EXPECT_TRUE(rows_in(folder.path(), epoch_schema()).empty());
  EXPECT_TRUE(joined({}).empty());
}

TEST(RowsIn, RefusesADamagedFileByName) {
  const TemporaryFolder folder;
  folder.write("epoch.csv", "run_id,case_id\nrun,a,too many\n");
  const std::string message =
      message_of<UsageError>([&] { rows_in(folder.path(), epoch_schema()); });
  EXPECT_THAT(message, HasSubstr("epoch.csv:2"));
}

TEST(NumberIn, IsNaNForAnEmptyCell) {
  ResultRow row(allreduce_schema());
  EXPECT_TRUE(std::isnan(number_in(row, "seconds_median")));
  EXPECT_EQ(number_in(row.set("seconds_median", 0.5), "seconds_median"), 0.5);
}

}  // namespace
}  // namespace scalebench
