// SPDX-License-Identifier: Apache-2.0
// What launches make a cell, what voids one, and what people read.
#include "bench/study/analysis/cells.hpp"

#include <gtest/gtest.h>

namespace scalebench {
namespace {

ResultRow epoch_of(const std::string& rank, double seconds, const std::string& status = "ok") {
  ResultRow row(epoch_schema());
  row.set("case_id", "c0ffee").set("status", status).set("ranks", 2).set("rank", rank);
  row.set("model", "mlp").set("gradient_sync", "mirrored").set("scaling", "strong");
  return row.set("seconds_median", seconds).set("note", status == "ok" ? "" : "why");
}

LaunchRows launch_of(int number, ResultRow row) { return {number, {std::move(row)}, {}}; }

TEST(Cell, HasOneMedianALaunchAndNoneOfSingleRanks) {
  LaunchRows second = launch_of(2, epoch_of("all", 3));
  second.cases.push_back(epoch_of("0", 7));
  const auto cells = cells_of({launch_of(1, epoch_of("all", 2)), second});
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].key, "epoch/c0ffee/2");
  EXPECT_EQ(cells[0].family, CellFamily::epoch);
  EXPECT_EQ(cells[0].seconds, (std::vector<double>{2, 3}));
  EXPECT_TRUE(cells[0].measured());
}

TEST(Cell, OnAnotherNumberOfNodesIsAnother) {
  ResultRow on_one = epoch_of("all", 2), on_two = epoch_of("all", 3);
  on_one.set("nodes", 1);
  on_two.set("nodes", 2);
  const auto cells = cells_of({launch_of(1, on_one), launch_of(2, on_two), launch_of(3, on_two)});
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0].key, "epoch/c0ffee/2");
  EXPECT_EQ(cells[1].key, "epoch/c0ffee/2x1");
  EXPECT_EQ(cells[1].seconds, (std::vector<double>{3, 3}));
  EXPECT_EQ(label_of(on_two), "epoch mlp mirrored strong N=2x1");
}

TEST(Cell, IsVoidedByOneLaunchThatFoundItWrong) {
  const auto cells =
      cells_of({launch_of(1, epoch_of("all", 2)), launch_of(2, epoch_of("all", 2, "wrong"))});
  EXPECT_EQ(cells[0].status, "wrong");
  EXPECT_EQ(cells[0].note, "why");
  EXPECT_FALSE(cells[0].measured());
}

TEST(Cell, IsSkippedOnlyWhenEveryLaunchSkippedIt) {
  const auto skipped = launch_of(1, epoch_of("all", 0, "skipped"));
  EXPECT_EQ(cells_of({skipped, skipped})[0].status, "skipped");
  EXPECT_TRUE(cells_of({skipped, launch_of(2, epoch_of("all", 2))})[0].measured());
  EXPECT_TRUE(cells_of({launch_of(2, epoch_of("all", 2)), skipped})[0].measured());
}

TEST(Cell, WithoutAPositiveTimeIsWrongWhateverItSays) {
  EXPECT_EQ(cells_of({launch_of(1, epoch_of("all", 0))})[0].status, "wrong");
}

TEST(Cell, IsCalledByWhatTellsItFromOthers) {
  EXPECT_EQ(label_of(epoch_of("all", 1)), "epoch mlp mirrored strong N=2");
  ResultRow row(allreduce_schema());
  row.set("algorithm", "ring").set("transport", "mpi").set("dtype", "float").set("op", "sum");
  row.set("placement", "out_of_place").set("size_bytes", 65536).set("ranks", 4);
  EXPECT_EQ(label_of(row), "allreduce ring mpi out_of_place 64 KiB N=4");
  EXPECT_EQ(label_of(row.set("pages", "default")), "allreduce ring mpi out_of_place 64 KiB N=4");
  EXPECT_EQ(label_of(row.set("pages", "huge")), "allreduce ring mpi out_of_place huge 64 KiB N=4");
  row.set("pages", "").set("transport", "nccl");
  EXPECT_EQ(label_of(row.set("register", 1)), "allreduce ring nccl out_of_place 64 KiB N=4");
  EXPECT_EQ(label_of(row.set("register", 2)),
            "allreduce ring nccl out_of_place register 2 64 KiB N=4");
}

using Cells = std::vector<const Cell*>;

Cell step_of(const std::string& key, const std::string& format, const std::string& step) {
  ResultRow row(throughput_schema());
  row.set("model", "resnet50").set("batch", 64).set("ranks", 1);
  row.set("memory_format", format).set("step", step);
  return {key, CellFamily::throughput, row, {}, {}, "ok", ""};
}

TEST(Cell, OfOneLabelWithAnotherIsToldApartByWhatDiffers) {
  Cell plain = step_of("a", "contiguous", "eager"), graph = step_of("b", "channels_last", "graph");
  EXPECT_EQ(labels_of(Cells{&plain}).at("a"), "throughput resnet50 batch 64 N=1")
      << "nothing to tell";
  auto labels = labels_of(Cells{&plain, &graph, &plain});
  EXPECT_EQ(labels.at("a"), "throughput resnet50 batch 64 N=1 contiguous");
  EXPECT_EQ(labels.at("b"), "throughput resnet50 batch 64 N=1 channels_last graph");
  graph = plain;
  graph.key = "b";
  graph.row.set("threads", 4);
  labels = labels_of(Cells{&plain, &graph});
  EXPECT_EQ(labels.at("a"), "throughput resnet50 batch 64 N=1");
  EXPECT_EQ(labels.at("b"), "throughput resnet50 batch 64 N=1 threads 4");
}

}  // namespace
}  // namespace scalebench
