// SPDX-License-Identifier: Apache-2.0
// What epochs cost, by hand: whole instances and parts of one, predictions, and what memory holds.
#include "bench/study/comparison/cost.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Instance p3() {
  return {"p3.8xlarge", "NVIDIA V100 SXM2", 4, 32, 10, 15.7, 12.24, "2026-07-20", "list"};
}
Instance g2() {
  return {"g2.2xlarge", "NVIDIA GRID K520", 1, 8, 1, 2.45, 0.65, "2026-07-20", "list"};
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
  EXPECT_EQ(rows[0].get("whole"), "0") << "1 of 4 GPUs";
  EXPECT_EQ(rows[1].get("whole"), "1");
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

std::string refusal(const Instance& instance, const ResultRow& row) {
  return message_of<UsageError>([&] { cost_rows({"run", instance, {row}}); });
}

TEST(Cost, RefusesRowsOfAnotherGpuByWholeWords) {
  Instance l4 = p3();
  l4.gpu_model = "NVIDIA L4";
  for (const char* const device : {"NVIDIA L4", "L4", "NVIDIA L40 L4-24"}) {
    EXPECT_EQ(cost_rows({"run", l4, {epoch(4, 100, device)}})[0].get("note"), "") << device;
  }
  EXPECT_EQ(refusal(l4, epoch(4, 100, "NVIDIA L40S")),
            "--instance p3.8xlarge: run was measured on 'NVIDIA L40S', and the type has NVIDIA L4");
}

TEST(Cost, RefusesMoreRanksOnANodeThanOneHolds) {
  EXPECT_EQ(refusal(p3(), epoch(8, 100)),
            "--instance p3.8xlarge: run has N = 8 on 1 node, and one has room for 4");
  EXPECT_EQ(refusal(g2(), epoch(8, 100, "cpu").set("threads", 2)),
            "--instance g2.2xlarge: run has N = 8 on 1 node, and one has room for 4");
  EXPECT_EQ(cost_rows({"run", p3(), {epoch(8, 100).set("nodes", "")}})[0].get("nodes"), "2")
      << "an import that names none";
}

TEST(Cost, ChargesTheNodesThatWereUsed) {
  const auto rows = cost_rows({"run", p3(), {epoch(2, 100).set("nodes", 2)}});
  EXPECT_EQ(rows[0].get("nodes"), "2");
  EXPECT_EQ(rows[0].get("whole"), "0");
  EXPECT_THAT(rows[0].get("note"), HasSubstr("1 nodes would do, 2 were used"));
}

TEST(Cost, IsNoneOfRanksThatShareADevice) {
  const ResultRow shared = epoch(8, 100).set("origin", "emulated");
  EXPECT_TRUE(cost_rows({"run", p3(), {shared}}).empty());
  EXPECT_TRUE(predicted({"run", p3(), {shared}}, g2()).epochs.empty());
}

TEST(Cost, CountsARankOnTheCpuByItsThreads) {
  std::vector<ResultRow> epochs{epoch(8, 100, "cpu").set("threads", 2).set("nodes", 2)};
  const auto rows = cost_rows({"run", g2(), epochs});
  EXPECT_EQ(rows[0].get("ranks_per_node"), "4") << "8 vCPUs, 2 a rank";
  EXPECT_EQ(rows[0].get("nodes"), "2");
  EXPECT_EQ(rows[0].get("whole"), "1");
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
  EXPECT_THAT(rows[0].get("note"), AllOf(HasSubstr("15.7/2.45 fp32 TFLOPS a GPU; links and network "
                                                   "are not looked at"),
                                         HasSubstr("memory holds it is not known")));
  EXPECT_THAT(message_of<UsageError>([] {
                predicted({"run", p3(), {epoch(1, 1, "cpu")}}, g2());
              }),
              HasSubstr("measured on CPUs"));
  Instance unknown = g2();
  unknown.fp32_tflops_per_gpu = std::nan("");
  EXPECT_THROW(predicted({"run", p3(), {}}, unknown), UsageError);
}

TEST(Cost, NamesNoDeviceThatTheRowsDoNotName) {
  const auto rows = cost_rows({"run", g2(), {epoch(1, 100, "")}});
  EXPECT_EQ(rows[0].get("note"),
            "taken to be on the instance's NVIDIA GRID K520: the rows name no device");
}

TEST(Cost, HasNoUsdWithoutAPrice) {
  Instance unpriced = g2();
  unpriced.usd_per_hour = std::nan("");
  const auto rows = cost_rows({"run", unpriced, {epoch(1, 100, "GRID K520")}});
  EXPECT_EQ(rows[0].get("usd_per_hour") + rows[0].get("usd_per_epoch"), "");
  EXPECT_EQ(rows[0].get("images_per_usd"), "");
  EXPECT_EQ(rows[0].get("images_per_s"), "500");
}

ResultRow throughput(int ranks, const std::string& rank, double images_per_s) {
  ResultRow row(throughput_schema());
  row.set("run_id", "run").set("origin", "measured").set("status", "ok").set("rank", rank);
  row.set("model", "resnet20").set("device", "Tesla V100-SXM2-16GB").set("dtype", "bfloat16");
  row.set("ranks", ranks).set("nodes", 1).set("batch", 64).set("step", "graph").set("launches", 3);
  row.set("seconds_median", 0.1).set("seconds_ci_low", 0.09).set("seconds_ci_high", 0.11);
  row.set("images_per_s_ci_low", 0.9 * images_per_s).set("images_per_s", images_per_s);
  return row.set("images_per_s_ci_high", 1.1 * images_per_s);
}

TEST(Cost, OfThroughputIsThatOfImagesAndOfNoEpoch) {
  PricedRun run{"run", p3(), {epoch(4, 100)}};
  run.throughput = {throughput(4, "all", 5000), throughput(4, "0", 1250),
                    throughput(1, "all", 1300)};
  run.throughput.push_back(throughput(2, "all", 1).set("status", "failed").set("note", "killed"));
  auto rows = cost_rows(run);
  ASSERT_EQ(rows.size(), 4U) << "a row of one of several ranks is no run";
  mark_efficient(rows);
  const auto at = [&](const std::string& ranks, const char* bench) -> const ResultRow& {
    return *std::ranges::find_if(rows, [&](const ResultRow& row) {
      return row.get("ranks") == ranks && row.get("bench") == bench;
    });
  };
  const ResultRow &all = at("4", "throughput"), &part = at("1", "throughput");
  EXPECT_EQ(all.get("images_per_s"), "5000");
  EXPECT_EQ(all.get("images_per_s_ci_high"), "5500");
  EXPECT_DOUBLE_EQ(cell(all, "images_per_usd"), 5000 * 3600 / 12.24);
  EXPECT_DOUBLE_EQ(cell(all, "usd_per_million_images"), 1e6 * 12.24 / 3600 / 5000);
  EXPECT_EQ(all.get("step") + all.get("dtype"), "graphbfloat16");
  for (const char* const column : {"usd_per_epoch", "usd_to_target", "seconds_median",
                                   "seconds_ci_low", "samples", "gradient_sync"}) {
    EXPECT_EQ(all.get(column), "") << column;
  }
  EXPECT_EQ(all.get("efficient"), "1");
  EXPECT_EQ(at("4", "epoch").get("efficient"), "1") << "500 images a second, but of an epoch";
  EXPECT_DOUBLE_EQ(cell(at("4", "epoch"), "usd_per_million_images"), 12.24 * 100 / 3600 / 0.05);
  EXPECT_EQ(part.get("whole") + part.get("efficient"), "0");
  EXPECT_EQ(at("2", "throughput").get("images_per_s"), "") << "failed";
  EXPECT_EQ(at("2", "throughput").get("note"), "killed");
}

/// On p3.8xlarge, for g2.2xlarge with this memory.
ResultRow predicted_for(double memory_gib, ResultRow trained) {
  Instance to = g2();
  to.gpu_memory_gib = memory_gib;
  return predicted({"run", p3(), {std::move(trained)}}, to).epochs.at(0);
}

TEST(Cost, PredictsNothingForAGpuThatDoesNotHoldTheModel) {
  auto large = epoch(4, 10);
  large.set("parameters", 300e6).set("optimizer", "adam").set("dtype", "float");
  const auto refused = predicted_for(4, large);
  EXPECT_EQ(refused.get("status"), "skipped");
  EXPECT_EQ(refused.get("seconds_median"), "");
  EXPECT_EQ(
      refused.get("note"),
      "resnet20 needs 4.47 GiB or more of a GPU for weights, gradients and optimizer, and one "
      "of g2.2xlarge has 4 GiB");
  EXPECT_EQ(predicted_for(5, large).get("status"), "ok");
  large.set("gradient_sync", "zero1");
  EXPECT_EQ(predicted_for(4, large).get("status"), "ok") << "each rank keeps a part of adam's";
  large.set("gradient_sync", "model_split");
  EXPECT_THAT(predicted_for(1, large).get("note"), HasSubstr("not known"));
}

std::vector<std::string> best_of(std::vector<ResultRow> rows) {
  mark_efficient(rows);
  std::vector<std::string> marks;
  for (const ResultRow& row : rows) marks.push_back(row.get("efficient"));
  return marks;
}

std::vector<ResultRow> joined(std::vector<ResultRow> rows, const std::vector<ResultRow>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

TEST(Cost, MarksWhatNothingBeatsInBoth) {
  const auto rows = cost_rows(
      {"run",
       p3(),
       {epoch(1, 100), epoch(4, 60), epoch(8, 40).set("nodes", 2), epoch(16, 45).set("nodes", 4)}});
  EXPECT_THAT(best_of(rows), testing::ElementsAre("", "1", "1", "0"))
      << "a part of an instance is nothing to rent";
  const auto foretold = cost_rows(predicted({"run", p3(), {epoch(4, 0.1)}}, g2()));
  EXPECT_THAT(best_of(joined(rows, foretold)), testing::ElementsAre("", "1", "1", "0", "1"))
      << "a prediction pushes no measured one aside";
  Instance dear = p3();
  dear.name = "dear";
  dear.usd_per_hour *= 2;
  const auto beaten = cost_rows(predicted({"run", p3(), {epoch(4, 60)}}, dear));
  EXPECT_THAT(best_of(joined(rows, beaten)), testing::ElementsAre("", "1", "1", "0", "0"))
      << "as fast as a measured one and twice the price";
}

}  // namespace
}  // namespace scalebench
