// SPDX-License-Identifier: Apache-2.0
// An import's folder is a run like any other for all that reads runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "bench/record/seal.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/analysis/tables.hpp"
#include "bench/study/import/imported_rows.hpp"
#include "bench/study/import/kinds.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

TEST(ImportFolder, IsReadAsAStoredRunWithItsLaunchesAndCells) {
  const std::string text =
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
      "1048576 262144 float sum -1 200.0 5.24 5.24 0 100.0 10.49 10.49 0\n";
  std::vector<NumberedLaunch> launches;
  Manifest manifest;
  manifest.import = ImportRecord{"nccl-tests", {{"a.txt", "ab", 3, {1, 2}, 0}}};
  for (const int number : {1, 2}) {
    ImportedFile file = read_collectives(text, "a.txt", {{"ranks", "2"}});
    launches.push_back({number, "a.txt", std::move(file.launches.at(0))});
    LaunchRecord& record = manifest.launches.emplace_back();
    record.number = number;
    record.note = "a.txt";
  }
  const TemporaryFolder scratch;
  const std::filesystem::path& folder = scratch.path();
  manifest.origin = "imported";
  write_import(folder, imported_rows(launches, allreduce_schema(), {"run", "imported"}),
               allreduce_schema(), manifest);

  const StoredRun run = read_stored_run(folder, WithSamples::yes);
  EXPECT_EQ(run.manifest.status, "complete");
  ASSERT_TRUE(run.manifest.import.has_value());
  EXPECT_EQ(run.manifest.import->files.at(0).launches, (std::vector<int>{1, 2}));
  EXPECT_EQ(file_hashes(folder), run.manifest.files);
  const std::vector<Cell> cells = cells_of(run);
  ASSERT_EQ(cells.size(), 2U);
  for (const Cell& cell : cells) {
    EXPECT_TRUE(cell.measured());
    EXPECT_EQ(cell.seconds.size(), 2U);
  }
  EXPECT_EQ(run.launches_of(allreduce_schema()).at(1).samples.size(), 2U);
}

ResultRow epoch(int ranks, const char* sync, const char* samples) {
  ResultRow row(epoch_schema());
  row.set("model", "m").set("ranks", ranks).set("status", "ok");
  row.set("gradient_sync", sync).set("samples", samples).set("origin", "imported");
  row.set("case_id", sync).set("seconds", 12.0 / ranks);
  return row;
}

/// Of files that say one epoch each.
std::vector<Leg> legs_of_files(const std::vector<ResultRow>& epochs, int of_a_round = 0) {
  std::vector<LaunchRows> launches;
  for (const ResultRow& row : epochs) {
    const int before = static_cast<int>(launches.size());
    const int round = of_a_round > 0 ? before / of_a_round : before;
    launches.push_back({before + 1, {row}, {}, round});
  }
  return imported_legs(cells_of(launches));
}

TEST(ImportFolder, HasAScalingTableWhereSeveralRanksHaveABase) {
  const auto rows =
      scaling_rows(legs_of_files({epoch(1, "one_device", "600"), epoch(4, "ddp", "600")}));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].get("speedup"), "4");
  EXPECT_EQ(rows[1].get("h_seconds"), "12");
  EXPECT_EQ(rows[1].get("efficiency_ci_low"), "") << "one file a side";
  EXPECT_THAT(rows[1].get("note"), testing::HasSubstr("no round has both T(1) and T(N)"));
  EXPECT_EQ(rows[0].get("efficiency") + rows[0].get("note"), "1") << "its own base";
  EXPECT_TRUE(legs_of_files({epoch(1, "one_device", "600")}).empty());
  EXPECT_TRUE(legs_of_files({epoch(1, "plain", "600"), epoch(4, "ddp", "600")}).empty());
  for (const char* samples : {"", "600"}) {
    // Nobody says how many images the epochs of H have.
    EXPECT_TRUE(legs_of_files({epoch(1, "one_device", ""), epoch(4, "ddp", samples)}).empty());
  }
}

TEST(ImportFolder, ComparesWithinTheRoundsThatAreSaid) {
  std::vector<ResultRow> epochs;
  for (int round = 0; round < 6; ++round) {
    // What a round does to both sides cancels.
    const double slower = 1 + 0.2 * (round % 3);
    epochs.push_back(epoch(1, "one_device", "600"));
    epochs.push_back(epoch(4, "ddp", "600"));
    epochs[epochs.size() - 2].set("seconds", 12 * slower);
    epochs.back().set("seconds", 4 * slower);
  }
  const ResultRow row = summary_rows(legs_of_files(epochs, 2))[1];
  EXPECT_EQ(row.get("efficiency"), "0.75");
  EXPECT_NEAR(number_in(row, "efficiency_ci_low"), 0.75, 1e-9);
  EXPECT_THAT(row.get("trust"), testing::HasSubstr("imported, 6 rounds"));
  EXPECT_LT(number_in(summary_rows(legs_of_files(epochs))[1], "efficiency_ci_low"), 0.74);
}

ResultRow with_states(ResultRow row, double compute, double sync) {
  row.set("compute_seconds", compute).set("transfer_seconds", sync);
  return row.set("input_seconds", 0.5).set("evaluation_seconds", 0);
}

TEST(ImportFolder, SaysWhereTheTimeWentWhereALogTellsTheParts) {
  // 12 s = 11.25 + 0 + 0.5 + 0.25; 3 s = 1.5 + 0.75 + 0.5 + 0.25 on four.
  const ResultRow one = with_states(epoch(1, "one_device", "600"), 11.25, 0);
  const ResultRow four = with_states(epoch(4, "ddp", "600"), 1.5, 0.75);
  std::map<std::string, double> losses;
  for (const ResultRow& row : loss_rows(legs_of_files({one, four}))) {
    losses[row.get("loss")] = number_in(row, "seconds");
    EXPECT_EQ(row.get("seconds_ci_low"), "") << "one file a side";
  }
  const std::map<std::string, double> expected{{"compute", 1.5 - 11.25 / 4},
                                               {"transfer_and_wait", 0.75},
                                               {"input", 0.5 - 0.125},
                                               {"evaluation", 0},
                                               {"host", 0.25 - 0.0625}};
  EXPECT_EQ(losses, expected);
  const ResultRow row = summary_rows(legs_of_files({one, four}))[1];
  EXPECT_EQ(row.get("largest_loss"), "transfer_and_wait");
  EXPECT_EQ(row.get("trust"), "imported, no rounds, no interval; no round has both T(1) and T(N)");
  const auto of_several = loss_rows(legs_of_files({one, one, four, four}));
  EXPECT_EQ(of_several[0].get("seconds_ci_low"), of_several[0].get("seconds")) << "Welch's";
}

}  // namespace
}  // namespace scalebench
