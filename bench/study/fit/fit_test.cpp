// SPDX-License-Identifier: Apache-2.0
// Times made from known coefficients, which the fit must give back; and where it cannot.
#include "bench/study/fit/fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/analysis/tables.hpp"

namespace scalebench {

// Which rows share a fit, and what the files then say.

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// One algorithm known by its line, and one that only its library knows.
AllreduceWork work_by_line(const AllreduceCall& call) {
  if (call.algorithm != "ring") return {NAN, NAN, NAN};
  const double p = call.ranks, bytes = call.count * call.element_bytes;
  return {2 * (p - 1), 2 * bytes * (p - 1) / p, bytes * (p - 1) / p};
}
const FitModel kModel{work_by_line};

ResultRow measured(const std::string& algorithm, int ranks, double count) {
  ResultRow row(allreduce_schema());
  row.set("origin", "measured").set("status", "ok").set("algorithm", algorithm);
  row.set("transport", "mpi").set("memory", "host").set("dtype", "double").set("op", "sum");
  row.set("mode", "isolated").set("cache", "warm").set("ranks", ranks).set("nodes", 1);
  row.set("size_bytes", 8 * count);
  const AllreduceWork work = work_by_line({.algorithm = "ring",
                                           .transport = "mpi",
                                           .ranks = static_cast<double>(ranks),
                                           .count = count,
                                           .element_bytes = 8});
  return row.set("seconds_median", 1e-6 * work.steps + 1e-9 * work.sent_bytes);
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
  EXPECT_EQ(row.get("points"), "8");
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
                                                        {"mode", "pipelined"},
                                                        {"cache", "cold"},
                                                        {"pages", "huge"},
                                                        {"register", "2"},
                                                        {"origin", "emulated"},
                                                        {"nodes", "2"}}) {
    for (ResultRow row : curve("ring", {2})) rows.push_back(row.set(column, value));
  }
  EXPECT_EQ(fitted(rows).size(), 12U);
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
  EXPECT_NEAR(number_in(row, "beta_seconds_per_byte"), 1e-9, 1e-17);
  EXPECT_THAT(row.get("note"), HasSubstr("; 2 points left out"));
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
  StudyTables tables = study_tables(run, plan, kModel);
  const std::string lost = "launch 2 is not in it: exit code 9; launch 3 is not in it: exit code 9";
  EXPECT_EQ(tables["allreduce.csv"].at(0).get("note"), "not the link's rate; " + lost);
  EXPECT_EQ(tables["allreduce.csv"].at(1).get("note"), lost);
  EXPECT_THAT(tables["fit.csv"].at(0).get("note"), HasSubstr("1 points left out"));
}

}  // namespace

namespace {

constexpr double kAlpha = 3e-6, kBeta = 2e-10, kGamma = 5e-11;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

AllreduceWork ring(double p, double bytes) {
  return {2 * (p - 1), 2 * bytes * (p - 1) / p, bytes * (p - 1) / p};
}

/// Every rank reads all others' buffers: what is reduced grows with p, what is sent does not.
AllreduceWork gather(double p, double bytes) { return {2, bytes, bytes * (p - 1)}; }

double seconds_of(const AllreduceWork& work) {
  return kAlpha * work.steps + kBeta * work.sent_bytes + kGamma * work.reduced_bytes;
}

/// Sizes from 8 bytes to 128 MiB for each number of ranks, `noise` in relative terms.
template <class Work>
std::vector<MeasuredWork> measured(Work work, const std::vector<double>& ranks, double noise = 0) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> off(1 - noise, 1 + noise);
  std::vector<MeasuredWork> points;
  for (const double p : ranks) {
    for (double bytes = 8; bytes <= 1 << 27; bytes *= 4) {
      points.push_back({work(p, bytes), bytes, seconds_of(work(p, bytes)) * off(random)});
    }
  }
  return points;
}

void expect_relative(double value, double expected, double tolerance) {
  EXPECT_NEAR(value / expected, 1, tolerance) << value << " for " << expected;
}

TEST(Fit, GivesBackTheCoefficientsOverSeveralRanks) {
  const auto fit = fit_of(measured(gather, {2, 3, 4, 8}));
  ASSERT_TRUE(fit && fit->gamma_seconds_per_byte);
  expect_relative(fit->alpha_seconds, kAlpha, 1e-9);
  expect_relative(fit->beta_seconds_per_byte, kBeta, 1e-9);
  expect_relative(*fit->gamma_seconds_per_byte, kGamma, 1e-9);
  EXPECT_LT(fit->rms_relative_residual, 1e-9);
  EXPECT_EQ(fit->points, 4U * 13U);
}

TEST(Fit, ToleratesNoiseAndSaysHowMuchThereIs) {
  const auto fit = fit_of(measured(gather, {2, 3, 4, 8}, 0.05));
  ASSERT_TRUE(fit && fit->gamma_seconds_per_byte);
  expect_relative(fit->alpha_seconds, kAlpha, 0.03);
  expect_relative(fit->beta_seconds_per_byte, kBeta, 0.1);
  expect_relative(*fit->gamma_seconds_per_byte, kGamma, 0.1);
  EXPECT_NEAR(fit->rms_relative_residual, 0.05 / std::sqrt(3.0), 0.01) << "of a uniform spread";
  EXPECT_LT(std::abs(fit->worst_relative_residual), 0.08);
}

TEST(Fit, LeavesGammaEmptyWhereSendingAndReducingGrowTogether) {
  // For a ring the two are in proportion on any number of ranks; beta then carries both.
  for (const std::vector<double>& ranks : {std::vector<double>{2}, {2, 4, 8}}) {
    const auto fit = fit_of(measured(ring, ranks));
    ASSERT_TRUE(fit);
    EXPECT_FALSE(fit->gamma_seconds_per_byte);
    expect_relative(fit->alpha_seconds, kAlpha, 1e-9);
    expect_relative(fit->beta_seconds_per_byte, kBeta + kGamma / 2, 1e-9);
  }
  EXPECT_FALSE(fit_of(measured(gather, {4}))->gamma_seconds_per_byte) << "one number of ranks";
}

TEST(Fit, TakesUnknownWorkAsOneStepAndTheBuffer) {
  std::vector<MeasuredWork> points;
  for (const double bytes : {1e3, 1e4, 1e5, 1e6}) {
    points.push_back({{kUnknown, kUnknown, kUnknown}, bytes, kAlpha + kBeta * bytes});
  }
  const auto fit = fit_of(points);
  ASSERT_TRUE(fit);
  EXPECT_FALSE(fit->gamma_seconds_per_byte) << "what a library reduces is unknown";
  expect_relative(fit->alpha_seconds, kAlpha, 1e-9);
  expect_relative(fit->beta_seconds_per_byte, kBeta, 1e-9);
  expect_relative(predicted_seconds(*fit, points[0].work, 5e7), kAlpha + kBeta * 5e7, 1e-9);
}

TEST(Fit, NeverClaimsANegativeLatency) {
  // Twenty times as long for ten times the bytes: a line through that starts below zero.
  std::vector<MeasuredWork> points;
  for (const double bytes : {1e3, 1e4, 1e5}) {
    points.push_back({{1, bytes, 0}, bytes, 1e-9 * std::pow(bytes, std::log10(20.0))});
  }
  const auto fit = fit_of(points);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->alpha_seconds, 0);
  double once = 0, twice = 0;
  for (const MeasuredWork& point : points) {
    once += point.size_bytes / point.seconds;
    twice += std::pow(point.size_bytes / point.seconds, 2);
  }
  expect_relative(fit->beta_seconds_per_byte, once / twice, 1e-12);
  EXPECT_GT(std::abs(fit->worst_relative_residual), 0.3) << "it does not fit, and says so";
  EXPECT_EQ(fit->worst_bytes, 1e5);
  EXPECT_LT(fit->worst_relative_residual, 0) << "the model is too fast there";
}

TEST(Fit, NeedsTwoSizesAndMorePointsThanUnknowns) {
  EXPECT_FALSE(fit_of({}));
  const auto points = measured(ring, {2});
  EXPECT_FALSE(fit_of(std::vector(points.begin(), points.begin() + 2)));
  EXPECT_TRUE(fit_of(std::vector(points.begin(), points.begin() + 3)));
  std::vector<MeasuredWork> one_size;
  for (const double p : {2, 3, 4, 8}) one_size.push_back({ring(p, 64), 64, 1e-6 * p});
  EXPECT_FALSE(fit_of(one_size));
}

}  // namespace

}  // namespace scalebench
