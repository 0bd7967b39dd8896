// SPDX-License-Identifier: Apache-2.0
// What epochs cost, by hand; the catalog's faults; predictions; the N from which another type wins.
#include "bench/study/comparison/cost.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Instance p3() {
  return {"p3.8xlarge", "NVIDIA V100 SXM2", 4, 32, 10, "NVLink", 15.7, 12.24, "2026-07-20", "list"};
}
Instance g2() {
  return {"g2.2xlarge", "NVIDIA GRID K520", 1, 8, 1, "", 2.45, 0.65, "2026-07-20", "list"};
}

ResultRow epoch(int ranks, double seconds, const std::string& device = "Tesla V100-SXM2-16GB") {
  ResultRow row(epoch_schema());
  row.set("run_id", "run").set("origin", "measured").set("status", "ok").set("rank", "all");
  row.set("model", "resnet20").set("dataset", "cifar").set("scaling", "strong").set("threads", 1);
  row.set("gradient_sync", ranks == 1 ? "one_device" : "mirrored").set("ranks", ranks);
  row.set("device", device).set("nodes", 1).set("samples", 50000).set("seconds_median", seconds);
  return row.set("seconds_ci_low", 0.9 * seconds).set("seconds_ci_high", 1.1 * seconds);
}

double cell(const ResultRow& row, std::string_view column) { return std::stod(row.get(column)); }

TEST(Cost, IsPriceTimesNodesTimesTime) {
  std::vector<ResultRow> epochs{epoch(1, 100), epoch(8, 20)};
  epochs[1].set("nodes", 2).set("target_accuracy", 0.9).set("seconds_to_target", 400);
  const auto rows = cost_rows({"run", p3(), epochs});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].get("nodes"), "1");
  EXPECT_DOUBLE_EQ(cell(rows[0], "usd_per_epoch"), 12.24 * 100 / 3600);
  EXPECT_DOUBLE_EQ(cell(rows[0], "images_per_usd"), 50000 / (12.24 * 100 / 3600));
  EXPECT_EQ(rows[0].get("usd_to_target"), "") << "without a target";
  EXPECT_EQ(rows[1].get("nodes"), "2") << "8 ranks on 4 GPUs each";
  EXPECT_DOUBLE_EQ(cell(rows[1], "usd_per_epoch"), 12.24 * 2 * 20 / 3600);
  EXPECT_DOUBLE_EQ(cell(rows[1], "usd_per_epoch_ci_high"), 12.24 * 2 * 22 / 3600);
  EXPECT_DOUBLE_EQ(cell(rows[1], "usd_to_target"), 12.24 * 2 * 400 / 3600);
  EXPECT_EQ(rows[1].get("price_date"), "2026-07-20");
  EXPECT_EQ(rows[1].get("note"), "");
}

TEST(Cost, ChargesTheNodesThatWereUsedAndNamesAnotherDevice) {
  std::vector<ResultRow> epochs{epoch(2, 100, "NVIDIA H200").set("nodes", 2)};
  const auto rows = cost_rows({"run", p3(), epochs});
  EXPECT_EQ(rows[0].get("nodes"), "2");
  EXPECT_THAT(rows[0].get("note"), AllOf(HasSubstr("not on the instance's NVIDIA V100 SXM2"),
                                         HasSubstr("1 nodes would do, 2 were used")));
}

TEST(Cost, CountsARankOnTheCpuByItsThreads) {
  std::vector<ResultRow> epochs{epoch(8, 100, "cpu").set("threads", 2)};
  const auto rows = cost_rows({"run", g2(), epochs});
  EXPECT_EQ(rows[0].get("ranks_per_node"), "4") << "8 vCPUs, 2 a rank";
  EXPECT_EQ(rows[0].get("nodes"), "2");
  EXPECT_THAT(rows[0].get("note"),
              HasSubstr("CPU ranks: 2 vCPU each; the instance's GPUs were not"));
  Instance small = g2();
  small.vcpus = 1;
  EXPECT_THROW(cost_rows({"run", small, epochs}), UsageError);
  Instance without = g2();
  without.gpus = 0;
  EXPECT_THAT(message_of<UsageError>([&] {
                cost_rows({"run", without, {epoch(1, 1)}});
              }),
              HasSubstr("it has no GPU"));
}

TEST(Cost, LeavesOutWhatTrainsNothingAndKeepsFailuresWithTheirReason) {
  std::vector<ResultRow> epochs{epoch(2, 9), epoch(2, 9), epoch(2, 9), epoch(4, 9), epoch(2, 9)};
  epochs[0].set("gradient_sync", "none");
  epochs[1].set("gradient_sync", "barrier_only");
  epochs[2].set("share_of", 2);
  epochs[3].set("status", "failed").set("note", "out of memory").set("seconds_median", "");
  epochs[4].set("rank", "0");
  const auto rows = cost_rows({"run", p3(), epochs});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].get("status"), "failed");
  EXPECT_EQ(rows[0].get("note"), "out of memory");
  EXPECT_EQ(rows[0].get("usd_per_epoch"), "");
}

TEST(Cost, PredictsByTheRatioOfTflopsAndSaysSo) {
  const PricedRun run = predicted({"run", p3(), {epoch(4, 10)}}, g2());
  const auto rows = cost_rows(run);
  EXPECT_EQ(rows[0].get("origin"), "predicted");
  EXPECT_NEAR(cell(rows[0], "seconds_median"), 10 * 15.7 / 2.45, 1e-12);
  EXPECT_EQ(rows[0].get("seconds_ci_low"), "") << "a prediction has no interval";
  EXPECT_EQ(rows[0].get("nodes"), "4") << "one GPU an instance";
  EXPECT_THAT(rows[0].get("note"), HasSubstr("15.7/2.45 fp32 TFLOPS a GPU; memory, links and "
                                             "network are not looked at"));
  EXPECT_THAT(message_of<UsageError>([] {
                predicted({"run", p3(), {epoch(1, 1, "cpu")}}, g2());
              }),
              HasSubstr("measured on CPUs"));
  Instance unknown = g2();
  unknown.fp32_tflops_per_gpu = std::nan("");
  EXPECT_THROW(predicted({"run", p3(), {}}, unknown), UsageError);
}

TEST(Cost, MarksWhatNothingBeatsInBothWithinOneOrigin) {
  auto rows = cost_rows({"run", p3(), {epoch(1, 100), epoch(2, 60), epoch(4, 70)}});
  const auto more = cost_rows(predicted({"run", p3(), {epoch(4, 1)}}, g2()));
  rows.insert(rows.end(), more.begin(), more.end());
  mark_efficient(rows);
  EXPECT_EQ(rows[0].get("efficient"), "0") << "4 GPUs are paid, whether used or not";
  EXPECT_EQ(rows[1].get("efficient"), "1");
  EXPECT_EQ(rows[2].get("efficient"), "0");
  EXPECT_EQ(rows[3].get("efficient"), "1") << "a prediction pushes no measured one aside";
  EXPECT_EQ(rows[1].get("efficient"), "1");
}

TEST(BreakEven, IsTheSmallestNAtWhichTheOtherWins) {
  const auto a = cost_rows({"a", p3(), {epoch(1, 100), epoch(2, 52), epoch(4, 30), epoch(8, 20)}});
  const auto b = cost_rows(
      {"b",
       g2(),
       {epoch(1, 640, "GRID K520"), epoch(2, 350, "GRID K520"), epoch(4, 200, "GRID K520")}});
  const auto rows = break_even_rows(b, a);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].get("criterion"), "usd_per_epoch");
  EXPECT_EQ(rows[0].get("ranks"), "4") << "0.102 usd against 0.144; before, 0.177 against 0.126";
  EXPECT_EQ(rows[0].get("ranks_compared"), "1;2;4");
  EXPECT_EQ(rows[0].get("instance_b"), "p3.8xlarge");
  EXPECT_DOUBLE_EQ(cell(rows[0], "value_b"), 12.24 * 30 / 3600);
  EXPECT_EQ(rows[1].get("ranks"), "1");
}

TEST(BreakEven, SaysNeverWithinTheMeasuredN) {
  const auto a = cost_rows({"a", p3(), {epoch(1, 100), epoch(2, 52), epoch(8, 20)}});
  const auto b = cost_rows({"b", g2(), {epoch(1, 640, "GRID K520"), epoch(2, 350, "GRID K520")}});
  const auto rows = break_even_rows(a, b);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].get("ranks"), "1") << "0.34 usd against 0.116";
  EXPECT_EQ(rows[1].get("criterion"), "seconds");
  EXPECT_EQ(rows[1].get("ranks"), "");
  EXPECT_EQ(rows[1].get("ranks_compared"), "1;2");
  EXPECT_EQ(rows[1].get("note"), "never within the measured N");
}

TEST(BreakEven, ComparesOnlyTheSameWorkAndIsPredictedWithAPrediction) {
  const auto a = cost_rows({"a", p3(), {epoch(1, 100)}});
  auto other = epoch(1, 10);
  other.set("samples", 60000);
  EXPECT_EQ(break_even_rows(a, cost_rows({"b", g2(), {other}}))[0].get("status"), "skipped");
  const auto predictions = cost_rows(predicted({"a", p3(), {epoch(1, 100)}}, g2()));
  EXPECT_EQ(break_even_rows(a, predictions)[0].get("origin"), "predicted");
  auto emulated = epoch(1, 10);
  emulated.set("origin", "emulated");
  EXPECT_EQ(break_even_rows(a, cost_rows({"b", g2(), {emulated}}))[0].get("status"), "skipped");
}

}  // namespace
}  // namespace scalebench
