// SPDX-License-Identifier: Apache-2.0
// What launches make a cell, what voids one, and what people read.
#include "bench/study/analysis/cells.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "bench/study/analysis/scaling.hpp"
#include "bench/study/analysis/stored_run.hpp"

namespace scalebench {
namespace {

ResultRow epoch_of(double seconds, const std::string& status = "ok") {
  ResultRow row(epoch_schema());
  row.set("case_id", "c0ffee").set("status", status).set("ranks", 2);
  row.set("model", "mlp").set("gradient_sync", "mirrored").set("scaling", "strong");
  return row.set("seconds", seconds).set("note", status == "ok" ? "" : "why");
}

LaunchRows launch_of(int number, ResultRow row) { return {number, {std::move(row)}, {}}; }

TEST(Cell, HasOneMedianALaunch) {
  const auto cells = cells_of({launch_of(1, epoch_of(2)), launch_of(2, epoch_of(3))});
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].key, "epoch/c0ffee/2");
  EXPECT_EQ(cells[0].family, CellFamily::epoch);
  EXPECT_EQ(cells[0].seconds, (std::vector<double>{2, 3}));
  EXPECT_TRUE(cells[0].measured());
}

TEST(Cell, OfASingleRankIsNotWhole) {
  ResultRow all(throughput_schema());
  all.set("case_id", "c0ffee").set("status", "ok").set("ranks", 2).set("rank", "all");
  ResultRow one = all.set("seconds_median", 3);
  const auto cells = cells_of({LaunchRows{1, {one.set("rank", 0), all}, {}}});
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_FALSE(cells[0].is_whole());
  EXPECT_TRUE(cells[1].is_whole());
  EXPECT_EQ(cells[1].seconds.size(), 1U);
}

TEST(Cell, OnAnotherNumberOfNodesIsAnother) {
  ResultRow on_one = epoch_of(2), on_two = epoch_of(3);
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
  const auto cells = cells_of({launch_of(1, epoch_of(2)), launch_of(2, epoch_of(2, "wrong"))});
  EXPECT_EQ(cells[0].status, "wrong");
  EXPECT_EQ(cells[0].note, "why");
  EXPECT_FALSE(cells[0].measured());
}

TEST(Cell, IsSkippedOnlyWhenEveryLaunchSkippedIt) {
  const auto skipped = launch_of(1, epoch_of(0, "skipped"));
  EXPECT_EQ(cells_of({skipped, skipped})[0].status, "skipped");
  const auto later = cells_of({skipped, launch_of(2, epoch_of(2))});
  EXPECT_TRUE(later[0].measured());
  EXPECT_EQ(later[0].row.get("status"), "ok") << "its row is of the launch that measured";
  EXPECT_TRUE(cells_of({launch_of(2, epoch_of(2)), skipped})[0].measured());
}

TEST(Cell, WithoutAPositiveTimeIsWrongWhateverItSays) {
  EXPECT_EQ(cells_of({launch_of(1, epoch_of(0))})[0].status, "wrong");
}

TEST(Cell, IsCalledByWhatTellsItFromOthers) {
  EXPECT_EQ(label_of(epoch_of(1)), "epoch mlp mirrored strong N=2");
  ResultRow row(allreduce_schema());
  row.set("algorithm", "ring").set("transport", "mpi").set("dtype", "float").set("op", "sum");
  row.set("placement", "out_of_place").set("size_bytes", 65536).set("ranks", 4);
  EXPECT_EQ(label_of(row), "allreduce ring mpi out_of_place 64 KiB N=4");
  row.set("transport", "nccl");
  EXPECT_EQ(label_of(row.set("register", 1)), "allreduce ring nccl out_of_place 64 KiB N=4");
  EXPECT_EQ(label_of(row.set("register", 2)),
            "allreduce ring nccl out_of_place register 2 64 KiB N=4");
}

TEST(Cell, SaysWhatWasDoneToItOnPurpose) {
  ResultRow row(allreduce_schema());
  EXPECT_EQ(injected_in(row), "");
  EXPECT_EQ(injected_in(row.set("note", "a clock of its own")), "");
  EXPECT_EQ(injected_in(row.set("note", "injected: slower=0.1")), "injected: slower=0.1");
  EXPECT_EQ(injected_in(row.set("note", "one; injected: kill:1@5, slower=0.1; two")),
            "injected: kill:1@5, slower=0.1");
}

ResultRow step_of(const std::string& case_id, const std::string& format, const std::string& step) {
  ResultRow row(throughput_schema());
  row.set("case_id", case_id).set("model", "resnet50").set("batch", 64).set("ranks", 1);
  return row.set("memory_format", format).set("step", step);
}

TEST(Labels, TellRowsOfOneLabelApartByWhatDiffers) {
  using Labels = std::vector<std::string>;
  const std::string label = "throughput resnet50 batch 64 N=1";
  const ResultRow plain = step_of("a", "contiguous", "eager");
  ResultRow other = step_of("b", "channels_last", "graph");
  EXPECT_EQ(labels_of({&plain}), Labels{label}) << "nothing to tell";
  EXPECT_EQ(labels_of({&plain, &other}),
            (Labels{label + " contiguous", label + " channels_last graph"}));
  other = step_of("b", "contiguous", "eager").set("threads", 4);
  EXPECT_EQ(labels_of({&plain, &other}), (Labels{label, label + " threads 4"}));
  other = step_of("b", "contiguous", "eager");
  EXPECT_EQ(labels_of({&plain, &other}), (Labels{label + " case a", label + " case b"}))
      << "what has no column, as the seed, is in a case's id";
}

// What is never mixed: launches that were started again under another declaration.

LaunchRows launch_from(int number, const std::string& origin, double seconds) {
  LaunchRows launch = launch_of(number, epoch_of(seconds).set("origin", origin));
  ResultRow sample(samples_schema());
  sample.set("case_id", "c0ffee").set("ranks", 2).set("seconds", seconds);
  launch.samples.push_back(std::move(sample));
  return launch;
}

const std::vector<LaunchRows>& of_two_origins() {
  static const std::vector<LaunchRows> kLaunches{
      launch_from(1, "emulated", 9), launch_from(2, "measured", 2), launch_from(3, "measured", 3)};
  return kLaunches;
}

TEST(Origins, AreTwoRowsOfACase) {
  const auto rows = rows_of(cells_of(of_two_origins()));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].get("origin") + ' ' + rows[0].get("seconds"), "emulated 9");
  EXPECT_EQ(rows[1].get("origin") + ' ' + rows[1].get("seconds"), "measured 2.5");
}

TEST(Origins, AreTwoCells) {
  const auto cells = cells_of(of_two_origins());
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0].key, "epoch/c0ffee/2/emulated");
  EXPECT_EQ(cells[0].seconds, std::vector<double>{9});
  EXPECT_EQ(cells[1].key, "epoch/c0ffee/2") << "what is measured keeps its name";
  EXPECT_EQ(cells[1].seconds, (std::vector<double>{2, 3}));
  EXPECT_EQ(cells_of({of_two_origins()[0]})[0].key, "epoch/c0ffee/2") << "alone";
}

TEST(Origins, RelateEmulatedRanksToNoMeasuredOne) {
  std::vector<ResultRow> rows;
  for (const auto& [ranks, origin, rate] :
       {std::tuple(1, "measured", 10), {2, "emulated", 12}, {2, "measured", 16}}) {
    ResultRow& row = rows.emplace_back(throughput_schema());
    row.set("case_id", "beef").set("status", "ok").set("origin", origin).set("rank", "all");
    row.set("ranks", ranks).set("images_per_s", rate).set("seconds_median", 1);
  }
  const auto relative = [&](std::size_t place) {
    std::vector<Cell> cells = cells_of({{1, rows, {}}});
    relate_to_one_rank(cells);
    return cells[place].row.get("relative_to_one_rank");
  };
  EXPECT_EQ(relative(1), "");
  EXPECT_EQ(relative(2), "0.8");
  rows[0].set("origin", "emulated").set("images_per_s", 6);
  rows.push_back(rows[0]);
  rows[0].set("origin", "measured").set("images_per_s", 10);
  EXPECT_EQ(relative(1), "1") << "one of its own kind";
}

TEST(Origins, HaveTheirOwnAnswers) {
  std::vector<Leg> legs;
  for (const char* const origin : {"measured", "emulated"}) {
    ResultRow row(epoch_schema());
    row.set("case_id", "c0ffee").set("origin", origin).set("status", "ok").set("model", "mlp");
    row.set("gradient_sync", "mirrored").set("scaling", "strong").set("ranks", 2);
    legs.push_back({.row = row});
  }
  const auto summary = summary_rows(legs);
  EXPECT_EQ(summary[0].get("strategy"), "mirrored, measured");
  EXPECT_EQ(summary[1].get("strategy"), "mirrored, emulated");
}

TEST(RanksWords, NameNodesWhereThereAreSeveral) {
  EXPECT_EQ(ranks_words("4", "1"), "4");
  EXPECT_EQ(ranks_words("4", ""), "4");
  EXPECT_EQ(ranks_words("4", "2"), "2x2");
  EXPECT_EQ(ranks_words("7", "2"), "7 on 2");
  EXPECT_EQ(ranks_words("", ""), "");
}

}  // namespace
}  // namespace scalebench
