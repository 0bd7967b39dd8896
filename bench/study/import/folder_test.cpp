// SPDX-License-Identifier: Apache-2.0
// An import's folder is a run like any other for all that reads runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  manifest.import = ImportRecord{"nccl-tests", {{"a.txt", "ab", 3, {1, 2}, 0}}, "", "", ""};
  for (const int number : {1, 2}) {
    ImportedFile file = read_nccl_tests(text, "a.txt", {{"ranks", "2"}});
    launches.push_back({number, "a.txt", std::move(file.launches.at(0))});
    LaunchRecord& record = manifest.launches.emplace_back();
    record.number = number;
    record.note = "a.txt";
  }
  const TemporaryFolder scratch;
  const ResultsFolder folder = ResultsFolder::at(scratch / "run", 1000);
  manifest.run_id = folder.run_id();
  manifest.origin = "imported";
  write_import(folder, imported_rows(launches, allreduce_schema(), {"run", "imported", ""}),
               allreduce_schema(), manifest);

  const StoredRun run = read_stored_run(folder.path(), WithSamples::yes);
  EXPECT_EQ(run.manifest.status, "complete");
  ASSERT_TRUE(run.manifest.import.has_value());
  EXPECT_EQ(run.manifest.import->files.at(0).launches, (std::vector<int>{1, 2}));
  EXPECT_EQ(file_hashes(folder.path()), run.manifest.files);
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
  row.set("model", "m").set("ranks", ranks).set("rank", "all").set("status", "ok");
  row.set("gradient_sync", sync).set("samples", samples).set("origin", "imported");
  row.set("case_id", sync).set("seconds_median", 12.0 / ranks);
  return row;
}

TEST(ImportFolder, HasAScalingTableWhereSeveralRanksHaveABase) {
  const std::vector<ResultRow> rows =
      scaling_of_import({epoch(1, "one_device", "600"), epoch(4, "ddp", "600")});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].get("speedup"), "4");
  EXPECT_EQ(rows[1].get("h_seconds"), "12");
  EXPECT_TRUE(scaling_of_import({epoch(1, "one_device", "600")}).empty());
  EXPECT_TRUE(scaling_of_import({epoch(1, "plain", "600"), epoch(4, "ddp", "600")}).empty());
  for (const char* samples : {"", "600"}) {
    // Nobody says how many images the epochs of H have.
    EXPECT_TRUE(scaling_of_import({epoch(1, "one_device", ""), epoch(4, "ddp", samples)}).empty());
  }
}

TEST(ImportFolder, HasNamesThatStayInIt) {
  EXPECT_EQ(plain_name("../../ETC/passwd"), "-.-..-etc-passwd");
  EXPECT_EQ(plain_name("..."), "-..");
  EXPECT_EQ(plain_name(""), "file");
  EXPECT_EQ(plain_name("gr\xc3\xb6\xc3\x9f"
                       "e.log"),
            "gr----e.log");
}

}  // namespace
}  // namespace scalebench
