// SPDX-License-Identifier: Apache-2.0
// Ids, samples, statistics and rates of imported rows.
#include "bench/study/import/imported_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bench/study/import/kinds.hpp"
#include "kernels/error.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

ImportedCase allreduce(const std::string& ranks, std::vector<double> seconds) {
  ImportedCase one{ResultRow(allreduce_schema()), std::move(seconds), {}};
  one.row.set("algorithm", "native").set("transport", "nccl").set("dtype", "float");
  one.row.set("size_bytes", 1'000'000).set("ranks", ranks);
  return one;
}

NumberedLaunch launch(int number, std::vector<ImportedCase> cases) {
  return {number, "a.log", {std::move(cases), {}}};
}

const ImportIdentity kIdentity{"a-run", "imported"};

TEST(ImportedRows, TakesTheMedianOverLaunches) {
  const ImportedRows rows =
      imported_rows({launch(1, {allreduce("4", {0.001, 0.003, 0.002})}),
                     launch(2, {allreduce("4", {0.004})}), launch(3, {allreduce("4", {0.006})})},
                    allreduce_schema(), kIdentity);
  ASSERT_THAT(rows.launches, SizeIs(3));
  EXPECT_EQ(rows.launches[0].cases.at(0).get("seconds_median"), "0.002");
  EXPECT_THAT(rows.launches[0].samples, SizeIs(3));
  ASSERT_THAT(rows.cases, SizeIs(1));
  const ResultRow& row = rows.cases[0];
  EXPECT_EQ(row.get("seconds_median"), "0.004");
  EXPECT_EQ(row.get("launches"), "3");
  EXPECT_EQ(row.get("repetitions"), "5");
  EXPECT_EQ(row.get("origin"), "imported");
  EXPECT_EQ(row.get("run_id"), "a-run");
  EXPECT_DOUBLE_EQ(number_in(row, "busbw_gb_per_s"), 0.375);
  EXPECT_EQ(rows.launches[0].samples[2].get("launch"), "1");
  EXPECT_EQ(rows.launches[0].samples[2].get("bytes"), "1000000");
}

TEST(ImportedRows, HasEqualIdsForCasesThatDifferInNothingButN) {
  const ImportedRows rows =
      imported_rows({launch(1, {allreduce("2", {0.001}), allreduce("4", {0.001})})},
                    allreduce_schema(), kIdentity);
  EXPECT_EQ(rows.cases.at(0).get("case_id"), rows.cases.at(1).get("case_id"));
  ImportedCase other = allreduce("2", {0.001});
  other.row.set("dtype", "half");
  const ImportedRows another = imported_rows({launch(1, {other})}, allreduce_schema(), kIdentity);
  EXPECT_NE(another.cases.at(0).get("case_id"), rows.cases[0].get("case_id"));
}

TEST(ImportedRows, JoinsTheFilesOfOneLaunch) {
  const ImportedRows rows =
      imported_rows({launch(1, {allreduce("4", {0.001})}), launch(1, {allreduce("4", {0.003})})},
                    allreduce_schema(), kIdentity);
  ASSERT_THAT(rows.launches, SizeIs(1));
  EXPECT_EQ(rows.cases.at(0).get("launches"), "1");
  EXPECT_EQ(rows.cases[0].get("repetitions"), "2");
  EXPECT_EQ(rows.launches[0].samples.at(1).get("repetition"), "1");
}

ImportedCase on_nodes(const std::string& ranks, int nodes, std::vector<double> seconds) {
  ImportedCase one = allreduce(ranks, std::move(seconds));
  one.row.set("nodes", nodes);
  return one;
}

TEST(ImportedRows, RefusesTwoLayoutsOfOneLaunch) {
  const ImportedCase here = on_nodes("8", 1, {0.001}), there = on_nodes("8", 8, {0.01});
  EXPECT_THAT(message_of<UsageError>([&] {
                imported_rows({launch(1, {here, there})}, allreduce_schema(), kIdentity);
              }),
              HasSubstr("a.log: launch 1 has 8 ranks on 1 nodes and on 8; number them apart"));
  const ImportedRows apart =
      imported_rows({launch(1, {here}), launch(2, {there})}, allreduce_schema(), kIdentity);
  EXPECT_THAT(apart.cases, SizeIs(2));
}

TEST(ImportedRows, LetsOneBadValueVoidTheCaseOfItsLaunch) {
  ImportedCase bad = allreduce("4", {});
  bad.row.set("status", "failed").set("note", "time: '-nan' is not a number");
  const ImportedRows rows = imported_rows(
      {launch(1, {allreduce("4", {0.001}), bad}), launch(2, {allreduce("4", {0.003})})},
      allreduce_schema(), kIdentity);
  EXPECT_EQ(rows.launches[0].cases.at(0).get("status"), "failed");
  EXPECT_EQ(rows.launches[0].cases[0].get("seconds_median"), "");
  EXPECT_EQ(rows.cases.at(0).get("seconds_median"), "0.003");
  EXPECT_THAT(rows.cases[0].get("note"), HasSubstr("1 of 2 launches"));
}

TEST(ImportedRows, RefusesARowThatIsNoCase) {
  ImportedCase one{ResultRow(epoch_schema()), {1.0}, {}};
  one.row.set("ranks", 3);
  EXPECT_EQ(message_of<UsageError>([&] { require_cases({launch(1, {one})}); }),
            "a.log: model is not in it; add --set model=...");
  ImportedCase bare{ResultRow(epoch_schema()), {1.0}, {}};
  EXPECT_EQ(message_of<UsageError>([&] { require_cases({launch(1, {bare})}); }),
            "a.log: ranks and model are not in it; add --set ranks=... --set model=...");
}

ImportedCase epoch(const std::string& ranks, const std::string& sync, const Settings& more) {
  ImportedCase one{ResultRow(epoch_schema()), {12.0 / std::stod(ranks)}, {}};
  one.row.set("model", "m").set("ranks", ranks).set("gradient_sync", sync);
  for (const auto& [column, value] : more) one.row.set(column, value);
  return one;
}

std::string why_not(const ImportedCase& one, const ImportedCase& several) {
  return why_no_speedup(imported_rows({launch(1, {one, several})}, epoch_schema(), kIdentity));
}

TEST(ImportedRows, SaysWhyThereIsNoSpeedup) {
  const Settings known{{"samples", "600"}};
  EXPECT_EQ(why_not(epoch("1", "one_device", known), epoch("4", "ddp", known)), "");
  EXPECT_THAT(why_not(epoch("1", "one_device", {}), epoch("4", "ddp", {})),
              HasSubstr("no speedup of 1 and 4 ranks: samples is '' and '', and --set says"));
  EXPECT_THAT(why_not(epoch("1", "plain", known), epoch("4", "ddp", known)),
              HasSubstr("ranks: name H with --set gradient_sync=one_device, and --set"));
  EXPECT_THAT(
      why_not(
          epoch("1", "one_device", {{"samples", "600"}, {"batch", "64"}, {"global_batch", "64"}}),
          epoch("4", "ddp", {{"samples", "600"}, {"batch", "16"}, {"global_batch", "64"}})),
      HasSubstr("ranks: batch is '64' and '16', and --set says what files do not: "));
  EXPECT_EQ(why_not(epoch("2", "ddp", {}), epoch("4", "ddp", {})), "") << "nothing to expect";
}

TEST(ImportedRows, GivesSamplesTheirImagesAndAccuracies) {
  ImportedCase one{ResultRow(epoch_schema()), {10, 20, 30}, {}};
  one.row.set("ranks", 3).set("model", "m").set("samples", 60000);
  one.accuracies = {0.5, 0.75, std::nan("")};
  const ImportedRows rows = imported_rows({launch(1, {one})}, epoch_schema(), kIdentity);
  const std::vector<ResultRow>& samples = rows.launches[0].samples;
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[0].get("rank"), "");
  EXPECT_EQ(samples[0].get("samples"), "60000");
  EXPECT_EQ(samples[1].get("test_accuracy"), "0.75");
  EXPECT_EQ(samples[2].get("test_accuracy"), "");
}

}  // namespace
}  // namespace scalebench
