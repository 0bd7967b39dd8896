// SPDX-License-Identifier: Apache-2.0
// Rows of fits.csv. Times of allreduces that are made from known coefficients: which of them share
// a fit, and what the rows then say.
#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/analysis/tables.hpp"
#include "bench/study/fit/fit.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;

ResultRow measured(const std::string& algorithm, int ranks, double count) {
  ResultRow row(allreduce_schema());
  row.set("origin", "measured").set("status", "ok").set("algorithm", algorithm);
  row.set("transport", "mpi").set("memory", "host").set("dtype", "double").set("op", "sum");
  row.set("mode", "isolated").set("cache", "warm").set("ranks", ranks).set("nodes", 1);
  row.set("size_bytes", 8 * count);
  const double p = ranks, sent_bytes = 2 * 8 * count * (p - 1) / p;  // a ring's
  return row.set("seconds_median", 1e-6 * 2 * (p - 1) + 1e-9 * sent_bytes);
}

std::vector<ResultRow> curve(const std::string& algorithm, const std::vector<int>& ranks) {
  std::vector<ResultRow> rows;
  for (const int p : ranks) {
    for (const double count : {1e2, 1e3, 1e4, 1e5}) rows.push_back(measured(algorithm, p, count));
  }
  return rows;
}

std::vector<ResultRow> fitted(const std::vector<ResultRow>& rows) { return fit_rows(rows, "run"); }

TEST(FitRows, FitAllSizesAndRanksOfACaseTogether) {
  const std::vector<ResultRow> rows = fitted(curve("ring", {2, 4}));
  ASSERT_EQ(rows.size(), 1U);
  const ResultRow& row = rows[0];
  EXPECT_EQ(row.get("status"), "ok");
  EXPECT_EQ(row.get("origin"), "measured");
  EXPECT_EQ(row.get("label"), "ring mpi host double sum isolated warm one_host");
  EXPECT_EQ(row.get("ranks"), "2;4");
  EXPECT_EQ(row.get("points"), "8");
  EXPECT_NEAR(number_in(row, "alpha_seconds"), 1e-6, 1e-14);
  EXPECT_LT(number_in(row, "residual"), 1e-9);
  EXPECT_NEAR(number_in(row, "beta_seconds_per_byte"), 1e-9, 1e-17) << "bytes, not elements";
  EXPECT_EQ(row.get("gamma_seconds_per_byte"), "");
  EXPECT_THAT(row.get("note"), HasSubstr("reducing"));
}

TEST(FitRows, NeverMixWhatDiffers) {
  std::vector<ResultRow> rows = curve("ring", {2});
  for (const auto& [column, value] :
       std::vector<std::pair<std::string, std::string>>{{"transport", "thread"},
                                                        {"memory", "device"},
                                                        {"dtype", "half"},
                                                        {"op", "max"},
                                                        {"placement", "in_place"},
                                                        {"mode", "pipelined"},
                                                        {"cache", "cold"},
                                                        {"register", "2"},
                                                        {"origin", "emulated"},
                                                        {"nodes", "2"}}) {
    for (ResultRow row : curve("ring", {2})) rows.push_back(row.set(column, value));
  }
  EXPECT_EQ(fitted(rows).size(), 11U);
}

TEST(FitRows, TakeOnlyWhatWasMeasuredOnSeveralRanks) {
  std::vector<ResultRow> rows = curve("ring", {1, 2});
  for (ResultRow row : curve("ring", {4})) rows.push_back(row.set("status", "wrong"));
  rows.push_back(measured("ring", 2, 7).set("seconds_median", ""));
  const auto points = points_of(rows);
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[0].ranks, 2);
  EXPECT_EQ(points[0].element_bytes, 8);
}

TEST(FitRows, SayWhenThereIsTooLittleToFit) {
  const std::vector<ResultRow> rows = fitted({measured("ring", 2, 100), measured("ring", 2, 200)});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].get("status"), "skipped");
  EXPECT_EQ(rows[0].get("alpha_seconds"), "");
  EXPECT_THAT(rows[0].get("note"), HasSubstr("more points"));
}

TEST(FitRows, LeaveOutWhatPassedAnEmulatedLinkFasterThanItsRate) {
  // The two shortest take half of what the line says.
  std::vector<ResultRow> touched = curve("ring", {2});
  for (std::size_t i = 0; i < 2; ++i) {
    touched[i].set("seconds_median", 0.5 * number_in(touched[i], "seconds_median"));
  }
  EXPECT_GT(std::abs(number_in(fitted(touched)[0], "alpha_seconds") - 1e-6), 1e-7)
      << "so that the test can fail";
  std::vector<ResultRow> rows = curve("ring", {2, 4});
  for (std::size_t i = 0; i < 2; ++i) {
    rows[i] = touched[i];
    rows[i].set("note", "2 of 3 launches; not the link's rate: the emulated one lets 31250 pass");
  }
  const ResultRow row = fitted(rows)[0];
  EXPECT_EQ(row.get("points"), "6");
  EXPECT_NEAR(number_in(row, "alpha_seconds"), 1e-6, 1e-14);
  EXPECT_THAT(row.get("note"), HasSubstr("2 points left out"));
  for (ResultRow& one : rows) one.set("note", "not the link's rate");
  const ResultRow none = fitted(rows)[0];
  EXPECT_EQ(none.get("status"), "skipped");
  EXPECT_THAT(none.get("note"), HasSubstr("; 8 points left out"));
}

TEST(FitRows, LeaveItOutAlsoWhereALaunchFailed) {
  StoredRun run;
  LaunchRows& first = run.launches["allreduce.csv"].emplace_back();
  first.launch = 1;
  first.cases = curve("ring", {2});
  for (ResultRow& row : first.cases) {
    row.set("case_id", row.get("size_bytes"));
    ResultRow& sample = first.samples.emplace_back(samples_schema());
    sample.set("case_id", row.get("case_id")).set("ranks", row.get("ranks"));
    sample.set("seconds", row.get("seconds_median"));
  }
  first.cases[0].set("note", "not the link's rate");
  std::vector<PlannedLaunch> plan(3);
  for (int number = 1; number <= 3; ++number) {
    PlannedLaunch& launch = plan[static_cast<std::size_t>(number) - 1];
    launch.number = number;
    launch.program = "bench_allreduce";
    launch.ranks = 2;
    LaunchRecord& record = run.manifest.launches.emplace_back();
    record.number = number;
    record.status = number == 1 ? "ok" : "failed";
    record.note = number == 1 ? "" : "exit code 9";
  }
  StudyTables tables = study_tables(run, plan);
  const std::string lost = "launch 2 is not in it: exit code 9; launch 3 is not in it: exit code 9";
  EXPECT_EQ(tables["allreduce.csv"].at(0).get("note"), "not the link's rate; " + lost);
  EXPECT_EQ(tables["allreduce.csv"].at(1).get("note"), lost);
  EXPECT_THAT(tables["fits.csv"].at(0).get("note"), HasSubstr("1 points left out"));
}

}  // namespace
}  // namespace scalebench
