// SPDX-License-Identifier: Apache-2.0
// What epochs cost, by hand: whole instances and parts of one.
#include "bench/study/comparison/cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Instance p3() { return {"p3.8xlarge", "NVIDIA V100 SXM2", 4, 32, 12.24, "2026-07-20", "list"}; }
Instance g2() { return {"g2.2xlarge", "NVIDIA GRID K520", 1, 8, 0.65, "2026-07-20", "list"}; }

Cell epoch(int ranks, double seconds, const std::string& device = "Tesla V100-SXM2-16GB") {
  Cell cell{"epoch/" + std::to_string(ranks),
            CellFamily::epoch,
            ResultRow(epoch_schema()),
            {},
            {},
            "ok",
            ""};
  cell.row.set("case_id", "id").set("origin", "measured").set("model", "resnet20");
  cell.row.set("dataset", "cifar").set("scaling", "strong").set("threads", 1).set("ranks", ranks);
  cell.row.set("gradient_sync", ranks == 1 ? "one_device" : "mirrored").set("device", device);
  cell.row.set("nodes", 1).set("samples", 50000);
  cell.seconds = {0.9 * seconds, seconds, 1.1 * seconds};
  return cell;
}

Cell saying(Cell cell, std::string_view column, std::string_view text) {
  cell.row.set(column, text);
  return cell;
}

std::vector<Cost> costs(const Instance& instance, const std::vector<Cell>& cells) {
  return costs_of("run", cells, instance);
}

TEST(Cost, IsPriceTimesNodesTimesTime) {
  const auto found = costs(p3(), {epoch(1, 100), saying(epoch(8, 20), "nodes", "2")});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_FALSE(found[0].whole) << "1 of 4 GPUs";
  EXPECT_TRUE(found[1].whole);
  EXPECT_EQ(found[1].nodes, 2) << "8 ranks on 4 GPUs each";
  const nlohmann::json one = json_of(found[0]), eight = json_of(found[1]);
  EXPECT_EQ(one.at("best"), "part");
  EXPECT_EQ(one.at("workload"), "resnet20 cifar strong");
  EXPECT_EQ(one.at("label"), "epoch resnet20 one_device strong N=1");
  EXPECT_EQ(one.at("images"), 50000);
  EXPECT_EQ(one.at("launches"), 3);
  EXPECT_DOUBLE_EQ(one.at("usd").get<double>(), 12.24 * 100 / 3600);
  EXPECT_DOUBLE_EQ(eight.at("usd").get<double>(), 12.24 * 2 * 20 / 3600);
  EXPECT_DOUBLE_EQ(eight.at("seconds_ci_high").get<double>(), 22);
  EXPECT_EQ(eight.at("note"), "");
}

std::string refusal(const Instance& instance, const Cell& cell) {
  return message_of<UsageError>([&] { costs(instance, {cell}); });
}

TEST(Cost, RefusesRowsOfAnotherGpuByWholeWords) {
  Instance l4 = p3();
  l4.gpu_model = "NVIDIA L4";
  for (const char* const device : {"NVIDIA L4", "L4", "NVIDIA L40 L4-24"}) {
    EXPECT_EQ(costs(l4, {epoch(4, 100, device)})[0].note, "") << device;
  }
  EXPECT_EQ(refusal(l4, epoch(4, 100, "NVIDIA L40S")),
            "--instance p3.8xlarge: run was measured on 'NVIDIA L40S', and the type has NVIDIA L4");
}

TEST(Cost, RefusesMoreRanksOnANodeThanOneHolds) {
  EXPECT_EQ(refusal(p3(), epoch(8, 100)),
            "--instance p3.8xlarge: run has N = 8 on 1 node, and one has room for 4");
  EXPECT_EQ(refusal(g2(), saying(epoch(8, 100, "cpu"), "threads", "2")),
            "--instance g2.2xlarge: run has N = 8 on 1 node, and one has room for 4");
  EXPECT_EQ(costs(p3(), {saying(epoch(8, 100), "nodes", "")})[0].nodes, 2)
      << "an import that names none";
}

TEST(Cost, ChargesTheNodesThatWereUsed) {
  const Cost cost = costs(p3(), {saying(epoch(2, 100), "nodes", "2")})[0];
  EXPECT_EQ(cost.nodes, 2);
  EXPECT_FALSE(cost.whole);
  EXPECT_THAT(cost.note, HasSubstr("1 nodes would do, 2 were used"));
}

TEST(Cost, IsNoneOfRanksThatShareADevice) {
  EXPECT_TRUE(costs(p3(), {saying(epoch(8, 100), "origin", "emulated")}).empty());
}

TEST(Cost, CountsARankOnTheCpuByItsThreads) {
  const Cell cell = saying(saying(epoch(8, 100, "cpu"), "threads", "2"), "nodes", "2");
  const Cost cost = costs(g2(), {cell})[0];
  EXPECT_EQ(cost.nodes, 2) << "8 vCPUs, 2 a rank";
  EXPECT_TRUE(cost.whole);
  EXPECT_EQ(cost.note, "");
  Instance small = g2();
  small.vcpus = 1;
  EXPECT_THROW(costs(small, {cell}), UsageError);
  Instance without = g2();
  without.gpus = 0;
  EXPECT_THAT(refusal(without, epoch(1, 1)), HasSubstr("it has no GPU"));
}

TEST(Cost, LeavesOutWhatTrainsNothingAndKeepsFailuresWithTheirReason) {
  Cell failed = epoch(4, 9);
  failed.seconds.clear();
  failed.status = "failed";
  failed.note = "out of memory";
  const auto found = costs(p3(), {saying(epoch(2, 9), "gradient_sync", "none"),
                                  saying(epoch(2, 9), "gradient_sync", "barrier_only"),
                                  saying(epoch(2, 9), "share_of", "2"), failed});
  ASSERT_EQ(found.size(), 1U);
  const nlohmann::json row = json_of(found[0]);
  EXPECT_EQ(row.at("status"), "failed");
  EXPECT_EQ(row.at("note"), "out of memory");
  EXPECT_TRUE(std::isnan(row.at("usd").get<double>() + row.at("seconds").get<double>()));
}

TEST(Cost, NamesNoDeviceThatTheRowsDoNotName) {
  EXPECT_EQ(costs(g2(), {epoch(1, 100, "")})[0].note,
            "taken to be on the instance's NVIDIA GRID K520: the rows name no device");
}

std::vector<std::string> best_of(std::vector<Cost> costs) {
  mark_efficient(costs);
  std::vector<std::string> marks;
  for (const Cost& cost : costs) marks.push_back(json_of(cost).at("best"));
  return marks;
}

TEST(Cost, MarksWhatNothingBeatsInBoth) {
  const auto found = costs(p3(), {epoch(1, 100), epoch(4, 60), saying(epoch(8, 40), "nodes", "2"),
                                  saying(epoch(16, 45), "nodes", "4")});
  EXPECT_THAT(best_of(found), testing::ElementsAre("part", "yes", "yes", "no"))
      << "a part of an instance is nothing to rent";
}

}  // namespace
}  // namespace scalebench
