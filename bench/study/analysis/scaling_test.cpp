// SPDX-License-Identifier: Apache-2.0
#include "bench/study/analysis/scaling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/study/analysis/rows.hpp"
#include "kernels/error.hpp"

namespace scalebench {

// Which row is divided by which: H from one_device, H_raw from none, and nothing that differs in
// more than N and strategy.

namespace {

using testing::ElementsAre;

/// An epoch of 600 images with a global batch of 60, over all ranks.
ResultRow epoch(const std::string& sync, int ranks, double seconds) {
  ResultRow row(epoch_schema());
  row.set("schema_version", 1).set("run_id", "run").set("origin", "measured").set("status", "ok");
  row.set("case_id", "id-of-" + sync).set("model", "mlp").set("gradient_sync", sync);
  row.set("device", "cpu").set("dtype", "float").set("threads", 1).set("dataset", "synthetic:600");
  row.set("scaling", "strong").set("global_batch", 60).set("batch", 60 / ranks);
  row.set("optimizer", "adam").set("learning_rate", 0.001).set("epochs", 1);
  row.set("ranks", ranks).set("rank", "all").set("seconds_median", seconds).set("samples", 600);
  return row.set("launches", 3).set("interval", "range").set("test_accuracy", 0.8);
}

/// The row of `ranks` ranks with the strategy `mirrored`.
ResultRow mirrored(const std::vector<ResultRow>& epochs, int ranks = 2) {
  for (const ResultRow& row : scaling_rows(epochs)) {
    const bool is_it = row.get("ranks") == std::to_string(ranks);
    if (is_it && row.get("gradient_sync") == "mirrored") return row;
  }
  ADD_FAILURE() << "no such row";
  return ResultRow(scaling_schema());
}

TEST(ScalingRows, TakeHFromOneDeviceAndHRawFromNone) {
  ResultRow leg = epoch("mirrored", 2, 6);
  leg.set("seconds_ci_low", 5).set("seconds_ci_high", 8);
  const ResultRow row = mirrored({epoch("none", 1, 9), epoch("one_device", 1, 10), leg});
  EXPECT_EQ(row.get("status"), "ok");
  EXPECT_EQ(row.get("baseline"), "one_device");
  EXPECT_EQ(row.get("h_seconds"), "10");
  EXPECT_EQ(row.get("ideal_seconds"), "5");
  EXPECT_EQ(row.get("rho"), "1");
  EXPECT_DOUBLE_EQ(number_in(row, "speedup"), 10.0 / 6);
  EXPECT_DOUBLE_EQ(number_in(row, "speedup_ci_low"), 10.0 / 8);
  EXPECT_DOUBLE_EQ(number_in(row, "speedup_ci_high"), 10.0 / 5);
  EXPECT_DOUBLE_EQ(number_in(row, "efficiency"), 10.0 / 12);
  EXPECT_EQ(row.get("h_raw_seconds"), "9");
  EXPECT_DOUBLE_EQ(number_in(row, "efficiency_raw"), 9.0 / 12);
  EXPECT_DOUBLE_EQ(number_in(row, "lost_seconds"), 1);
  EXPECT_DOUBLE_EQ(number_in(row, "karp_flatt"), 0.2);
  EXPECT_EQ(row.get("test_accuracy"), "0.8");
  EXPECT_EQ(row.get("launches"), "3");
}

TEST(ScalingRows, ShowTheBaselinesThemselves) {
  const auto rows = scaling_rows({epoch("one_device", 1, 10), epoch("none", 1, 9)});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].get("gradient_sync"), "none");
  EXPECT_EQ(rows[1].get("gradient_sync"), "one_device");
  EXPECT_EQ(rows[1].get("efficiency"), "1");
  EXPECT_EQ(rows[1].get("karp_flatt"), "");
  EXPECT_EQ(rows[1].get("efficiency_raw"), "0.9") << "what the plumbing costs on one rank";
}

TEST(ScalingRows, FailWithoutH) {
  const ResultRow row = mirrored({epoch("none", 1, 9), epoch("mirrored", 2, 6)});
  EXPECT_EQ(row.get("status"), "failed");
  EXPECT_EQ(row.get("note"), "H is missing: no one_device epoch on one rank");
  EXPECT_EQ(row.get("speedup"), "");
  EXPECT_EQ(row.get("seconds_median"), "6") << "what was measured stays";
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
  EXPECT_EQ(row.get("seconds_median"), "");
  EXPECT_EQ(row.get("speedup"), "");
}

TEST(ScalingRows, NeverDivideAcrossOrigins) {
  ResultRow leg = epoch("mirrored", 4, 6);
  leg.set("origin", "emulated");
  const ResultRow row = mirrored({epoch("one_device", 1, 10), epoch("none", 1, 9), leg}, 4);
  EXPECT_EQ(row.get("note"), "no speedup: H is measured, this is emulated");
  for (const char* column :
       {"speedup", "efficiency", "h_seconds", "efficiency_raw", "h_raw_seconds", "karp_flatt"}) {
    EXPECT_EQ(row.get(column), "") << column;
  }
}

TEST(ScalingRows, CompareOnlyWhatDiffersInNAndStrategyAlone) {
  for (const char* column : {"model", "device", "dtype", "memory_format", "threads", "dataset",
                             "scaling", "optimizer", "learning_rate", "epochs", "global_batch"}) {
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
  one.set("target_accuracy", 0.9).set("epochs", 8).set("epochs_to_target", 8);
  leg.set("target_accuracy", 0.9).set("epochs", 10).set("epochs_to_target", 10);
  leg.set("seconds_to_target", 60);
  const ResultRow row = mirrored({one, leg});
  EXPECT_EQ(row.get("status"), "ok") << "the number of epochs is the outcome here";
  EXPECT_DOUBLE_EQ(number_in(row, "efficiency_statistical"), 0.8);
  EXPECT_DOUBLE_EQ(number_in(row, "efficiency_to_accuracy"), 0.8 * 10.0 / 12);
  EXPECT_EQ(row.get("seconds_to_target"), "60");

  leg.set("epochs_to_target", "");
  EXPECT_EQ(mirrored({one, leg}).get("efficiency_statistical"), "") << "never reached";
  ResultRow never = one;
  never.set("epochs_to_target", "");
  EXPECT_EQ(mirrored({never, leg.set("epochs_to_target", 8)}).get("efficiency_to_accuracy"), "");
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

  leg.set("batch", 60).set("global_batch", 120);
  EXPECT_EQ(mirrored({one, leg}).get("status"), "failed") << "another batch per rank";
}

/// Compute, transfer and static waiting; the rest is 0.
ResultRow with_states(ResultRow row, double compute, double transfer, double wait) {
  for (const char* state : {"wait_jitter", "input", "evaluation", "host"}) {
    row.set(std::string(state) + "_seconds", 0);
  }
  row.set("compute_seconds", compute).set("transfer_seconds", transfer);
  return row.set("wait_seconds", wait).set("wait_static_seconds", wait);
}

double sum_of_losses(const ResultRow& row) {
  double sum = 0;
  for (const std::string& column : scaling_schema().columns) {
    if (!column.starts_with("lost_") || column == "lost_seconds") continue;
    if (!row.get(column).empty()) sum += number_in(row, column);
  }
  return sum;
}

TEST(ScalingRows, AccountForTheTimeBetweenIdealAndMeasured) {
  const ResultRow one = with_states(epoch("one_device", 1, 10), 10, 0, 0);
  ResultRow leg = with_states(epoch("mirrored", 2, 6.25), 5.2, 0.5, 0.5);
  leg.set("last_rank", 1).set("last_rank_share", 0.75);
  const ResultRow row = mirrored({one, leg});
  EXPECT_DOUBLE_EQ(number_in(row, "lost_compute_seconds"), 5.2 - 5);
  EXPECT_EQ(row.get("lost_batch_seconds"), "");
  EXPECT_EQ(row.get("lost_transfer_seconds"), "0.5");
  EXPECT_EQ(row.get("lost_wait_static_seconds"), "0.5");
  EXPECT_EQ(row.get("lost_wait_jitter_seconds"), "0");
  EXPECT_NEAR(number_in(row, "lost_unattributed_seconds"), 0.05, 1e-12);
  EXPECT_EQ(row.get("last_rank"), "1");
  EXPECT_NEAR(number_in(row, "ideal_seconds") + sum_of_losses(row), 6.25, 1e-12);
}

TEST(ScalingRows, SplitTheLossOfComputationWhereOneShareRanAlone) {
  const ResultRow one = with_states(epoch("one_device", 1, 10), 10, 0, 0);
  const ResultRow leg = with_states(epoch("mirrored", 2, 6), 6, 0, 0);
  const ResultRow plain = with_states(epoch("none", 1, 9), 9, 0, 0);
  ResultRow share = with_states(epoch("none", 1, 4.7), 4.7, 0, 0);
  share.set("share_of", 2).set("batch", 30).set("samples", 300).set("case_id", "share");
  const std::vector<ResultRow> epochs{one, leg, plain, share};
  const ResultRow row = mirrored(epochs);
  EXPECT_EQ(row.get("lost_compute_seconds"), "");
  EXPECT_NEAR(number_in(row, "lost_batch_seconds"), 4.7 - 4.5, 1e-12);
  EXPECT_NEAR(number_in(row, "lost_contention_seconds"), 1 - 0.2, 1e-12);
  EXPECT_NEAR(number_in(row, "ideal_seconds") + sum_of_losses(row), 6, 1e-12);
  EXPECT_EQ(scaling_rows(epochs).size(), 3U) << "the share of an epoch is no epoch";
  EXPECT_EQ(row.get("h_raw_seconds"), "9");
}

TEST(ScalingRows, LeaveTheAccountEmptyWithoutStates) {
  const ResultRow row = mirrored({epoch("one_device", 1, 10), epoch("mirrored", 2, 6)});
  EXPECT_EQ(row.get("lost_compute_seconds"), "");
  EXPECT_EQ(row.get("lost_unattributed_seconds"), "");
  EXPECT_EQ(row.get("lost_seconds"), "1");
}

TEST(ScalingRows, LeaveTheRowsOfSingleRanksOut) {
  ResultRow single = epoch("one_device", 1, 99);
  single.set("rank", "0");
  const auto rows = scaling_rows({single, epoch("one_device", 1, 10)});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].get("h_seconds"), "10");
}

TEST(ScalingRows, AreSortedByTheNumberNotTheTextOfRanks) {
  std::vector<std::string> ranks;
  for (const ResultRow& row : scaling_rows({epoch("mirrored", 10, 2), epoch("one_device", 1, 10),
                                            epoch("mirrored", 2, 6), epoch("mirrored", 4, 3)})) {
    ranks.push_back(row.get("ranks"));
  }
  EXPECT_THAT(ranks, ElementsAre("1", "2", "4", "10"));
}

}  // namespace

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TimeWithInterval exactly(double seconds) { return {seconds, kNone, kNone}; }

// ImageNet on one and three p3.2xlarge, as published: 26 614 s and 11 605 s.
TEST(Scaling, ReproducesThePublishedImagenetRun) {
  const Scaling s = scaling_of(exactly(26614), 1, exactly(11605), 1, 3);
  EXPECT_NEAR(s.speedup, 2.2933, 5e-5);
  EXPECT_NEAR(s.efficiency, 0.7644, 5e-5);
  EXPECT_NEAR(s.karp_flatt, 0.1541, 5e-5);
  EXPECT_NEAR(s.lost_seconds, 2733.7, 0.05);
  EXPECT_TRUE(std::isnan(s.speedup_low)) << "no interval in, none out";
}

// TensorFlow's published K80 table: 52.4 images/s on one, 378, 751, 1388, 2744 on 8, 16, 32, 64.
TEST(Scaling, ReproducesThePublishedK80Table) {
  const auto karp_flatt = [](double images_per_s, int devices) {
    return scaling_of(exactly(1 / 52.4), 1, exactly(1 / images_per_s), 1, devices).karp_flatt;
  };
  EXPECT_NEAR(karp_flatt(378, 8), .0156, 5e-5);
  EXPECT_NEAR(karp_flatt(751, 16), .0078, 5e-5);
  EXPECT_NEAR(karp_flatt(1388, 32), .0067, 5e-5);
  EXPECT_NEAR(karp_flatt(2744, 64), .0035, 5e-5);
}

TEST(Scaling, NormalisesBySamplesReallyProcessed) {
  // A rule like 500 // size makes three ranks process 498 of 500: less work is no speedup.
  const Scaling s = scaling_of(exactly(10), 500, exactly(10.0 / 3 * 498 / 500), 498, 3);
  EXPECT_NEAR(s.efficiency, 1.0, 1e-12);
  EXPECT_NEAR(s.lost_seconds, 0.0, 1e-12);
}

TEST(Scaling, IntervalsComeFromTheFarEnds) {
  const Scaling s = scaling_of({10, 9, 11}, 1, {5, 4, 6}, 1, 2);
  EXPECT_DOUBLE_EQ(s.speedup_low, 9.0 / 6);
  EXPECT_DOUBLE_EQ(s.speedup_high, 11.0 / 4);
  EXPECT_DOUBLE_EQ(s.efficiency_high, 11.0 / 8);
}

TEST(Scaling, OneDeviceIsItsOwnIdeal) {
  const Scaling s = scaling_of(exactly(7), 3, exactly(7), 3, 1);
  EXPECT_EQ(s.speedup, 1);
  EXPECT_EQ(s.lost_seconds, 0);
  EXPECT_TRUE(std::isnan(s.karp_flatt));
}

TEST(Scaling, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(scaling_of(exactly(0), 1, exactly(1), 1, 2), Error);
  EXPECT_THROW(scaling_of(exactly(1), 0, exactly(1), 1, 2), Error);
  EXPECT_THROW(scaling_of(exactly(1), 1, exactly(kNone), 1, 2), Error);
  EXPECT_THROW(scaling_of(exactly(1), 1, exactly(1), 1, 0), Error);
}

}  // namespace

}  // namespace scalebench
