// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/scaling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "bench/study/analysis/stored_run.hpp"
#include "kernels/error.hpp"

namespace scalebench::scaling_test {

// Which row is divided by which: H from one_device, H_raw from none; N and strategy alone differ.

namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

/// An epoch of 600 images with a global batch of 60, over all ranks.
ResultRow epoch(const std::string& sync, int ranks, double seconds) {
  ResultRow row(epoch_schema());
  row.set("run_id", "run").set("origin", "measured").set("status", "ok");
  row.set("case_id", "id-of-" + sync).set("model", "mlp").set("gradient_sync", sync);
  row.set("device", "cpu").set("dtype", "float").set("threads", 1).set("dataset", "synthetic:600");
  row.set("scaling", "strong").set("global_batch", 60).set("batch", 60 / ranks);
  row.set("optimizer", "adam").set("ranks", ranks).set("seconds", seconds).set("samples", 600);
  return row.set("launches", 3).set("interval", "range").set("test_accuracy", 0.8);
}

/// What one launch of each would make.
std::vector<ResultRow> scaled(const std::vector<ResultRow>& epochs) {
  return scaling_rows(measured_legs(cells_of({LaunchRows{1, epochs, {}}})));
}

/// The row of `ranks` ranks with the strategy `mirrored`.
ResultRow mirrored(const std::vector<ResultRow>& epochs, int ranks = 2) {
  for (const ResultRow& row : scaled(epochs)) {
    const bool is_it = row.get("ranks") == std::to_string(ranks);
    if (is_it && row.get("gradient_sync") == "mirrored") return row;
  }
  ADD_FAILURE() << "no such row";
  return ResultRow(scaling_schema());
}

TEST(ScalingRows, TakeHFromOneDeviceAndTheRawFromNone) {
  const ResultRow row =
      mirrored({epoch("none", 1, 9), epoch("one_device", 1, 10), epoch("mirrored", 2, 6)});
  EXPECT_EQ(row.get("status"), "ok");
  EXPECT_EQ(row.get("h_seconds"), "10");
  EXPECT_EQ(row.get("ideal_seconds"), "5");
  EXPECT_EQ(row.get("rho"), "1");
  EXPECT_DOUBLE_EQ(number_in(row, "speedup"), 10.0 / 6);
  EXPECT_EQ(row.get("efficiency_ci_low"), "") << "one round has no interval";
  EXPECT_EQ(row.get("rounds"), "1");
  EXPECT_DOUBLE_EQ(number_in(row, "efficiency"), 10.0 / 12);
  EXPECT_DOUBLE_EQ(number_in(row, "efficiency_raw"), 9.0 / 12);
  EXPECT_DOUBLE_EQ(number_in(row, "lost_seconds"), 1);
  EXPECT_DOUBLE_EQ(number_in(row, "karp_flatt"), 0.2);
}

TEST(ScalingRows, ShowTheBaselinesThemselves) {
  const auto rows = scaled({epoch("one_device", 1, 10), epoch("none", 1, 9)});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].get("gradient_sync"), "none");
  EXPECT_EQ(rows[1].get("gradient_sync"), "one_device");
  EXPECT_EQ(rows[1].get("efficiency"), "1");
  EXPECT_EQ(rows[1].get("karp_flatt"), "");
  EXPECT_EQ(rows[1].get("efficiency_raw"), "0.9") << "what the plumbing costs on one rank";
}

TEST(ScalingRows, FailWithoutH) {
  ResultRow row = mirrored({epoch("none", 1, 9), epoch("mirrored", 2, 6).set("note", "why")});
  EXPECT_EQ(row.get("status"), "failed");
  EXPECT_EQ(row.get("note"), "why; H is missing: no one_device epoch on one rank");
  EXPECT_EQ(row.get("speedup"), "");
  EXPECT_EQ(row.get("measured_seconds"), "6") << "what was measured stays";
}

TEST(ScalingRows, DoNotTakeAnHThatIsNotOk) {
  ResultRow broken = epoch("one_device", 1, 10);
  broken.set("status", "failed");
  EXPECT_EQ(mirrored({broken, epoch("mirrored", 2, 6)}).get("status"), "failed");
}

TEST(ScalingRows, PassOnWhyALegHasNoNumber) {
  ResultRow leg = epoch("mirrored", 2, 6);
  leg.set("status", "wrong").set("note", "replicas differ");
  const ResultRow row = mirrored({epoch("one_device", 1, 10), leg});
  EXPECT_EQ(row.get("status"), "wrong");
  EXPECT_EQ(row.get("note"), "replicas differ");
  EXPECT_EQ(row.get("measured_seconds"), "");
  EXPECT_EQ(row.get("speedup"), "");
}

TEST(ScalingRows, NeverDivideAcrossOrigins) {
  ResultRow leg = epoch("mirrored", 4, 6);
  leg.set("origin", "emulated").set("note", "why");
  const ResultRow row = mirrored({epoch("one_device", 1, 10), epoch("none", 1, 9), leg}, 4);
  EXPECT_EQ(row.get("note"), "why; no speedup: H is measured, this is emulated");
  for (const char* column :
       {"speedup", "efficiency", "h_seconds", "efficiency_raw", "karp_flatt"}) {
    EXPECT_EQ(row.get(column), "") << column;
  }
}

TEST(ScalingRows, CompareOnlyWhatDiffersInNAndStrategyAlone) {
  for (const char* column : {"model", "device", "dtype", "settings", "threads", "dataset",
                             "scaling", "optimizer", "global_batch"}) {
    ResultRow other = epoch("one_device", 1, 10);
    other.set(column, "another");
    EXPECT_EQ(mirrored({other, epoch("mirrored", 2, 6)}).get("status"), "failed") << column;
  }
  // The batch per rank is what strong scaling changes, and a path to a peer needs two ranks.
  ResultRow other = epoch("one_device", 1, 10);
  other.set("allreduce", "native").set("transport", "none");
  EXPECT_EQ(mirrored({other, epoch("mirrored", 2, 6)}).get("status"), "ok");
}

TEST(ScalingRows, CountTheEpochsToATarget) {
  ResultRow one = epoch("one_device", 1, 10);
  ResultRow leg = epoch("mirrored", 2, 6);
  one.set("target_accuracy", 0.9).set("epochs_to_target", 8);
  leg.set("target_accuracy", 0.9).set("epochs_to_target", 10);
  const ResultRow row = mirrored({one, leg});
  EXPECT_EQ(row.get("status"), "ok");
  EXPECT_DOUBLE_EQ(number_in(row, "efficiency_statistical"), 0.8);

  leg.set("epochs_to_target", "");
  EXPECT_EQ(mirrored({one, leg}).get("efficiency_statistical"), "") << "never reached";
  ResultRow never = one;
  never.set("epochs_to_target", "");
  EXPECT_EQ(mirrored({never, leg.set("epochs_to_target", 8)}).get("efficiency_statistical"), "");
  leg.set("target_accuracy", 0.8);
  EXPECT_EQ(mirrored({one, leg}).get("status"), "failed") << "another target";
}

TEST(ScalingRows, CarryTheWorkOfWeakScalingInRho) {
  ResultRow one = epoch("one_device", 1, 10);
  ResultRow leg = epoch("mirrored", 2, 10);
  one.set("scaling", "weak").set("batch", 30).set("global_batch", 30).set("samples", 600);
  leg.set("scaling", "weak").set("batch", 30).set("global_batch", 60).set("samples", 1200);
  const ResultRow row = mirrored({one, leg});
  EXPECT_EQ(row.get("rho"), "2");
  EXPECT_EQ(row.get("speedup"), "2") << "twice the work in the same time";
  EXPECT_EQ(row.get("efficiency"), "1");
  EXPECT_EQ(row.get("ideal_seconds"), "10") << "rho H/N: the same time for N times the work";
  EXPECT_EQ(row.get("lost_seconds"), "0");

  leg.set("batch", 60).set("global_batch", 120);
  EXPECT_EQ(mirrored({one, leg}).get("status"), "failed") << "another batch per rank";
}

/// Compute, transfer and static waiting; the rest is 0.
ResultRow with_states(ResultRow row, double compute, double transfer, double wait) {
  for (const char* state : {"wait_jitter", "input", "evaluation"}) {
    row.set(std::string(state) + "_seconds", 0);
  }
  row.set("compute_seconds", compute).set("transfer_seconds", transfer);
  return row.set("wait_static_seconds", wait);
}

/// Losses by name, with their sum under "".
std::map<std::string, double> losses_of(const std::vector<LaunchRows>& launches) {
  std::map<std::string, double> losses;
  for (const ResultRow& row : loss_rows(measured_legs(cells_of(launches)))) {
    losses[row.get("loss")] = number_in(row, "seconds");
    losses[""] += number_in(row, "seconds");
  }
  return losses;
}

TEST(LossRows, SplitComputationWhereOneShareRanAlone) {
  const ResultRow one = with_states(epoch("one_device", 1, 10), 10, 0, 0);
  const ResultRow leg = with_states(epoch("mirrored", 2, 6), 6, 0, 0);
  ResultRow share = with_states(epoch("none", 1, 4.7), 4.7, 0, 0);
  share.set("share_of", 2).set("batch", 30).set("samples", 300).set("case_id", "share");
  const std::vector<ResultRow> epochs{one, leg, epoch("none", 1, 9), share};
  auto losses = losses_of({{1, epochs, {}}});
  EXPECT_FALSE(losses.contains("compute"));
  EXPECT_NEAR(losses.at("batch"), 4.7 - 5, 1e-12) << "against the one base, one_device";
  EXPECT_NEAR(losses.at("contention"), 6 - 4.7, 1e-12);
  EXPECT_NEAR(5 + losses.at(""), 6, 1e-12);
  EXPECT_EQ(scaled(epochs).size(), 3U) << "the share of an epoch is no epoch";
}

TEST(LossRows, AreEmptyWithoutStates) {
  const std::vector<ResultRow> epochs{epoch("one_device", 1, 10), epoch("mirrored", 2, 6)};
  EXPECT_TRUE(losses_of({{1, epochs, {}}}).empty());
  EXPECT_EQ(mirrored(epochs).get("lost_seconds"), "1");
}

/// Three rounds of a machine that is now slow and now fast: the ratio within each is 1 to 1.25.
struct ThreeRounds {
  std::vector<LaunchRows> launches;

  ThreeRounds() {
    const std::vector<double> one{10, 20, 12}, two{5, 12.5, 7.5}, plain{10, 18, 11};
    for (int round = 0; round < 3; ++round) {
      const auto at = static_cast<std::size_t>(round);
      add(round, with_states(epoch("one_device", 1, one[at]), one[at], 0, 0));
      add(round, with_states(epoch("mirrored", 2, two[at]), one[at] / 2, 0, two[at] - one[at] / 2));
      add(round, epoch("none", 1, plain[at]));
    }
  }
  void add(int round, const ResultRow& row) {
    LaunchRows launch{static_cast<int>(launches.size()) + 1, {row}, {}};
    launch.round = round;
    launches.push_back(launch);
  }
  std::vector<Leg> legs() const { return measured_legs(cells_of(launches)); }
  ResultRow row(const std::string& sync) const {
    for (const ResultRow& one : scaling_rows(legs())) {
      if (one.get("gradient_sync") == sync) return one;
    }
    ADD_FAILURE() << "no row of " << sync;
    return ResultRow(scaling_schema());
  }
};

TEST(ScalingRows, AreRatiosOfMeansOverRounds) {
  const ResultRow row = ThreeRounds().row("mirrored");
  EXPECT_EQ(row.get("rounds"), "3");
  EXPECT_EQ(row.get("h_seconds"), "14");
  EXPECT_EQ(row.get("ideal_seconds"), "7");
  EXPECT_DOUBLE_EQ(number_in(row, "measured_seconds"), 25 / 3.0);
  EXPECT_EQ(row.get("efficiency"), "0.84") << "as a calculator has it: 7 / 8.333";
  EXPECT_DOUBLE_EQ(number_in(row, "efficiency_ci_low"), 0.8);
  EXPECT_DOUBLE_EQ(number_in(row, "efficiency_ci_high"), 1) << "far ends would say 2";
  EXPECT_EQ(row.get("speedup"), "1.68");
  EXPECT_EQ(row.get("interval"), "range of rounds");
  EXPECT_DOUBLE_EQ(number_in(row, "lost_seconds"), 25 / 3.0 - 7);
  EXPECT_DOUBLE_EQ(number_in(row, "efficiency_raw"), 39 / 50.0);
}

TEST(ScalingRows, ShowARawThatIsThereInAllOfTheirRounds) {
  ThreeRounds rounds;
  rounds.launches[2].cases[0].set("status", "failed");
  EXPECT_EQ(rounds.row("mirrored").get("efficiency_raw"), "");
  rounds.launches[1].cases[0].set("status", "failed");
  EXPECT_EQ(rounds.row("mirrored").get("rounds"), "2");
  EXPECT_NE(rounds.row("mirrored").get("efficiency_raw"), "") << "the round counts no more";
}

using Cells = std::vector<std::string>;

/// Joules of one_device and mirrored in each round; empty: not known.
ResultRow with_energy(const Cells& one, const Cells& two) {
  ThreeRounds rounds;
  const auto set = [&](ResultRow& row, int round) {
    const auto at = static_cast<std::size_t>(round);
    const bool is_one = row.get("gradient_sync") == "one_device";
    row.set("joules", (is_one ? one : two)[at]);
  };
  for (LaunchRows& launch : rounds.launches) set(launch.cases[0], launch.round);
  return rounds.row("mirrored");
}

TEST(ScalingRows, CompareJoules) {
  const ResultRow row = with_energy({"100", "300", "120"}, {"125", "300", "200"});
  EXPECT_DOUBLE_EQ(number_in(row, "energy_ratio"), 520 / 625.0);
  EXPECT_DOUBLE_EQ(number_in(row, "energy_ratio_ci_low"), 0.6);
  EXPECT_DOUBLE_EQ(number_in(row, "energy_ratio_ci_high"), 1);
}

TEST(ScalingRows, CompareNoJoulesThatARoundLacks) {
  EXPECT_EQ(with_energy({"100", "", "120"}, {"125", "300", "12"}).get("energy_ratio"), "");
  EXPECT_EQ(with_energy({"100", "300", "120"}, Cells(3)).get("energy_ratio"), "");
}

TEST(ScalingRows, LeaveOnlyTheRoundOfAFailedLaunchOut) {
  ThreeRounds rounds;
  rounds.launches[1].cases[0].set("status", "failed");  // mirrored in the first round
  rounds.launches[6].cases.clear();                     // one_device in the last one
  const ResultRow row = rounds.row("mirrored");
  EXPECT_EQ(row.get("rounds"), "1");
  EXPECT_EQ(row.get("h_seconds"), "20");
  EXPECT_EQ(row.get("measured_seconds"), "12.5") << "of the same round";
  EXPECT_EQ(row.get("efficiency"), "0.8");
  EXPECT_EQ(row.get("efficiency_ci_low"), "");
  EXPECT_EQ(summary_rows(rounds.legs())[2].get("trust"), "measured, 1 of 3 rounds, no interval");
}

TEST(ScalingRows, HaveWelchsIntervalWhereNoRoundHasBoth) {
  ThreeRounds rounds;
  for (LaunchRows& launch : rounds.launches) {
    if (launch.cases[0].get("ranks") == "2") launch.round += 10;
  }
  rounds.launches[1].cases[0].set("note", "injected: slower=0.1");
  const ResultRow row = rounds.row("mirrored");
  EXPECT_EQ(row.get("rounds"), "0");
  EXPECT_EQ(row.get("efficiency"), "0.84");
  EXPECT_LT(number_in(row, "efficiency_ci_low"), 0.5) << "nothing says which belong together";
  EXPECT_EQ(row.get("interval"), "95% of launches");
  EXPECT_EQ(row.get("note"), "injected: slower=0.1; no round has both T(1) and T(N)");
  EXPECT_NEAR(losses_of(rounds.launches).at(""), 25 / 3.0 - 7, 1e-12);
}

TEST(LossRows, AreMeansOverRoundsThatSumToWhatIsLost) {
  const ThreeRounds rounds;
  const auto legs = rounds.legs();
  double sum = 7;  // H/N
  for (const ResultRow& row : loss_rows(legs)) {
    sum += number_in(row, "seconds");
    if (row.get("loss") != "wait_static") continue;
    EXPECT_DOUBLE_EQ(number_in(row, "seconds"), 4 / 3.0) << "0, 2.5 and 1.5";
    EXPECT_EQ(row.get("seconds_ci_low"), "0");
    EXPECT_EQ(row.get("seconds_ci_high"), "2.5");
  }
  EXPECT_NEAR(sum, 25 / 3.0, 1e-12);
}

TEST(SummaryRows, AreWhatMostPeopleLookFor) {
  ThreeRounds rounds;
  rounds.add(2, epoch("zero1", 4, 3).set("status", "failed").set("note", "no memory"));
  const auto rows = summary_rows(rounds.legs());
  ASSERT_EQ(rows.size(), 4U);
  const auto cells = [&](std::size_t row, std::initializer_list<const char*> columns) {
    std::vector<std::string> texts;
    for (const char* const column : columns) texts.push_back(rows[row].get(column));
    return texts;
  };
  EXPECT_THAT(
      cells(2, {"model", "strategy", "scaling", "ranks", "h_seconds", "ideal_seconds", "speedup",
                "efficiency", "largest_loss", "rounds", "trust"}),
      ElementsAre("mlp", "mirrored", "strong", "2", "14", "7", "1.68", "0.84", "wait_static", "3",
                  "measured, 3 rounds, range of rounds; cannot be told from ideal"));
  EXPECT_EQ(rows[2].get("largest_loss_seconds_ci_low"), "0") << "said beside it, not skipped";
  EXPECT_THAT(cells(3, {"strategy", "speedup", "rounds", "trust"}),
              ElementsAre("zero1", "", "", "failed: no memory"));
}

/// The example of a strategy that is faster than its ideal: 0.091 s where half of 0.23 s is 0.115
/// s.
TEST(SummaryRows, CallWhatIsFasterThanTheIdealSo) {
  std::vector<LaunchRows> launches;
  for (int round = 0; round < 6; ++round) {
    const double noise = 0.001 * round;
    const std::vector<ResultRow> epochs{
        with_states(epoch("one_device", 1, 0.23 + noise), 0.23 + noise, 0, 0),
        with_states(epoch("mirrored", 2, 0.091 + noise), 0.09, 0.001, noise)};
    launches.push_back({round, epochs, {}});
  }
  const ResultRow row = summary_rows(measured_legs(cells_of(launches)))[1];
  EXPECT_GT(number_in(row, "efficiency_ci_low"), 1.1);
  EXPECT_LT(number_in(row, "lost_seconds"), -0.02);
  EXPECT_EQ(row.get("trust"), "measured, 6 rounds, 95% of rounds; faster than ideal");
  EXPECT_EQ(row.get("largest_loss"), "wait_static") << "the only ones that are none are gains";
}

TEST(ScalingRows, AreSortedByTheNumberNotTheTextOfRanks) {
  std::vector<std::string> ranks;
  for (const ResultRow& row : scaled({epoch("mirrored", 10, 2), epoch("one_device", 1, 10),
                                      epoch("mirrored", 2, 6), epoch("mirrored", 4, 3)})) {
    ranks.push_back(row.get("ranks"));
  }
  EXPECT_THAT(ranks, ElementsAre("1", "2", "4", "10"));
}

}  // namespace

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// ImageNet on one and three p3.2xlarge, as published: 26 614 s and 11 605 s.
TEST(Scaling, ReproducesThePublishedImagenetRun) {
  const Scaling s = scaling_of(26614, 1, 11605, 1, 3);
  EXPECT_NEAR(s.speedup, 2.2933, 5e-5);
  EXPECT_NEAR(s.efficiency, 0.7644, 5e-5);
  EXPECT_NEAR(s.karp_flatt, 0.1541, 5e-5);
  EXPECT_NEAR(s.lost_seconds, 2733.7, 0.05);
}

// TensorFlow's published K80 table: 52.4 images/s on one, 378, 751, 1388, 2744 on 8, 16, 32, 64.
TEST(Scaling, ReproducesThePublishedK80Table) {
  const auto karp_flatt = [](double images_per_s, int devices) {
    return scaling_of(1 / 52.4, 1, 1 / images_per_s, 1, devices).karp_flatt;
  };
  EXPECT_NEAR(karp_flatt(378, 8), .0156, 5e-5);
  EXPECT_NEAR(karp_flatt(751, 16), .0078, 5e-5);
  EXPECT_NEAR(karp_flatt(1388, 32), .0067, 5e-5);
  EXPECT_NEAR(karp_flatt(2744, 64), .0035, 5e-5);
}

TEST(Scaling, NormalisesBySamplesReallyProcessed) {
  // A rule like 500 // size makes three ranks process 498 of 500: less work is no speedup.
  const Scaling s = scaling_of(10, 500, 10.0 / 3 * 498 / 500, 498, 3);
  EXPECT_NEAR(s.efficiency, 1.0, 1e-12);
  EXPECT_NEAR(s.ideal_seconds, 10.0 / 3 * 498 / 500, 1e-12) << "as much less";
  EXPECT_NEAR(s.lost_seconds, 0.0, 1e-12);
}

TEST(Scaling, LetsEachRankOfWeakScalingDoAsMuchAsOne) {
  const Scaling s = scaling_of(10, 500, 12.5, 2000, 4);
  EXPECT_EQ(s.ideal_seconds, 10);
  EXPECT_EQ(s.efficiency, 0.8);
  EXPECT_EQ(s.lost_seconds, 2.5);
}

TEST(Scaling, OneDeviceIsItsOwnIdeal) {
  const Scaling s = scaling_of(7, 3, 7, 3, 1);
  EXPECT_EQ(s.speedup, 1);
  EXPECT_EQ(s.lost_seconds, 0);
  EXPECT_TRUE(std::isnan(s.karp_flatt));
}

TEST(Scaling, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(scaling_of(0, 1, 1, 1, 2), Error);
  EXPECT_THROW(scaling_of(1, 0, 1, 1, 2), Error);
  EXPECT_THROW(scaling_of(1, 1, kNone, 1, 2), Error);
  EXPECT_THROW(scaling_of(1, 1, 1, 1, 0), Error);
}

}  // namespace

}  // namespace scalebench::scaling_test
