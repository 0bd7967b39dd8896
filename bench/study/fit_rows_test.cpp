// SPDX-License-Identifier: Apache-2.0
// Which rows share a fit, and what the files then say.
#include "bench/study/fit_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/study/collect.hpp"

namespace scalebench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// One algorithm known by its line, and one that only its library knows.
AllreduceWork cost_of(std::string_view algorithm, double p, double n, double /*g*/) {
  if (algorithm != "ring") return {NAN, NAN, NAN};
  return {2 * (p - 1), 2 * n * (p - 1) / p, n * (p - 1) / p};
}
const FitModel kModel{cost_of};

ResultRow measured(const std::string& algorithm, int ranks, double count) {
  ResultRow row(allreduce_schema());
  row.set("origin", "measured").set("status", "ok").set("algorithm", algorithm);
  row.set("transport", "mpi").set("memory", "host").set("dtype", "double").set("op", "sum");
  row.set("mode", "isolated").set("cache", "warm").set("ranks", ranks).set("nodes", 1);
  row.set("count", count).set("size_bytes", 8 * count);
  const AllreduceWork work = cost_of("ring", ranks, count, ranks);
  return row.set("seconds_median", 1e-6 * work.steps + 1e-9 * 8 * work.sent_bytes);
}

std::vector<ResultRow> curve(const std::string& algorithm, const std::vector<int>& ranks) {
  std::vector<ResultRow> rows;
  for (const int p : ranks) {
    for (const double count : {1e2, 1e3, 1e4, 1e5}) rows.push_back(measured(algorithm, p, count));
  }
  return rows;
}

std::vector<ResultRow> fitted(const std::vector<ResultRow>& rows) {
  return fit_rows(fits_of(points_of(rows), kModel), "run");
}

TEST(FitRows, FitAllSizesAndRanksOfACaseTogether) {
  const std::vector<ResultRow> rows = fitted(curve("ring", {2, 4}));
  ASSERT_EQ(rows.size(), 1U);
  const ResultRow& row = rows[0];
  EXPECT_EQ(row.get("status"), "ok");
  EXPECT_EQ(row.get("origin"), "measured");
  EXPECT_EQ(row.get("ranks"), "2;4");
  EXPECT_EQ(row.get("nodes"), "1");
  EXPECT_EQ(row.get("sizes"), "4");
  EXPECT_EQ(row.get("points"), "8");
  EXPECT_EQ(row.get("smallest_bytes"), "800");
  EXPECT_EQ(row.get("largest_bytes"), "800000");
  EXPECT_NEAR(number_in(row, "alpha_seconds"), 1e-6, 1e-14);
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
                                                        {"graph", "1"},
                                                        {"mode", "pipelined"},
                                                        {"cache", "cold"},
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

TEST(FitPointRows, PredictEveryMeasuredPoint) {
  std::vector<ResultRow> measured_rows = curve("native", {2});
  const double truth = number_in(measured_rows[3], "seconds_median");
  const auto fits = fits_of(points_of(measured_rows), kModel);
  const std::vector<ResultRow> rows = fit_point_rows(fits, kModel, "run");
  ASSERT_EQ(rows.size(), 4U);
  const ResultRow& last = rows.back();
  EXPECT_EQ(last.get("origin"), "predicted");
  EXPECT_EQ(last.get("size_bytes"), "800000");
  EXPECT_NEAR(number_in(last, "seconds"), truth, 1e-9 * truth);
  EXPECT_NEAR(number_in(last, "busbw_gb_per_s"), 8e5 / truth * 1e-9, 1e-9);
  EXPECT_NEAR(number_in(last, "relative_residual"), 0, 1e-9);
}

}  // namespace
}  // namespace scalebench
