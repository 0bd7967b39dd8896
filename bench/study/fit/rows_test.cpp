// SPDX-License-Identifier: Apache-2.0
// Rows of fits.csv. Times of allreduces that are made from known coefficients: which of them share
// a fit, and what the rows then say. Speedups whose laws are known: values, reasons, and, with
// noise in every round, intervals that hold the true parameters as often as they say.
#include "bench/study/fit/rows.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/analysis/tables.hpp"
#include "bench/study/fit/laws.hpp"

namespace scalebench {
namespace {

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
  return fit_rows(rows, kModel, {}, "run");
}

TEST(FitRows, FitAllSizesAndRanksOfACaseTogether) {
  const std::vector<ResultRow> rows = fitted(curve("ring", {2, 4}));
  ASSERT_EQ(rows.size(), 3U);
  const ResultRow& alpha = rows[0];
  EXPECT_EQ(alpha.get("status"), "ok");
  EXPECT_EQ(alpha.get("origin"), "measured");
  EXPECT_EQ(alpha.get("label"), "ring mpi host double sum isolated warm one_host");
  EXPECT_EQ(alpha.get("ranks"), "2;4");
  EXPECT_EQ(alpha.get("points"), "8");
  EXPECT_EQ(alpha.get("parameter"), "alpha_seconds");
  EXPECT_NEAR(number_in(alpha, "value"), 1e-6, 1e-14);
  EXPECT_LT(number_in(alpha, "residual"), 1e-9);
  EXPECT_EQ(rows[1].get("parameter"), "beta_seconds_per_byte");
  EXPECT_NEAR(number_in(rows[1], "value"), 1e-9, 1e-17) << "bytes, not elements";
  EXPECT_EQ(rows[2].get("parameter"), "gamma_seconds_per_byte");
  EXPECT_EQ(rows[2].get("status"), "skipped");
  EXPECT_EQ(rows[2].get("value"), "");
  EXPECT_THAT(rows[2].get("note"), HasSubstr("reducing"));
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
  EXPECT_EQ(fitted(rows).size(), 3 * 12U);
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
  ASSERT_EQ(rows.size(), 3U);
  for (const ResultRow& row : rows) {
    EXPECT_EQ(row.get("status"), "skipped");
    EXPECT_EQ(row.get("value"), "");
    EXPECT_THAT(row.get("note"), HasSubstr("more points"));
  }
}

TEST(FitRows, LeaveOutWhatPassedAnEmulatedLinkFasterThanItsRate) {
  // The two shortest take half of what the line says.
  std::vector<ResultRow> touched = curve("ring", {2});
  for (std::size_t i = 0; i < 2; ++i) {
    touched[i].set("seconds_median", 0.5 * number_in(touched[i], "seconds_median"));
  }
  EXPECT_GT(std::abs(number_in(fitted(touched)[0], "value") - 1e-6), 1e-7)
      << "so that the test can fail";
  std::vector<ResultRow> rows = curve("ring", {2, 4});
  for (std::size_t i = 0; i < 2; ++i) {
    rows[i] = touched[i];
    rows[i].set("note", "2 of 3 launches; not the link's rate: the emulated one lets 31250 pass");
  }
  const ResultRow row = fitted(rows)[0];
  EXPECT_EQ(row.get("points"), "6");
  EXPECT_NEAR(number_in(row, "value"), 1e-6, 1e-14);
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
  StudyTables tables = study_tables(run, plan, kModel);
  const std::string lost = "launch 2 is not in it: exit code 9; launch 3 is not in it: exit code 9";
  EXPECT_EQ(tables["allreduce.csv"].at(0).get("note"), "not the link's rate; " + lost);
  EXPECT_EQ(tables["allreduce.csv"].at(1).get("note"), lost);
  EXPECT_THAT(tables["fits.csv"].at(0).get("note"), HasSubstr("1 points left out"));
}

std::vector<ResultRow> laws_of(const std::vector<MeasuredScaling>& scalings) {
  return fit_rows({}, kModel, scalings, "run");
}

template <class Noisy>
MeasuredScaling scaling(const Law& law, std::initializer_list<int> ranks, int rounds, Noisy noisy,
                        bool weak = false) {
  MeasuredScaling made{ResultRow(epoch_schema()), weak};
  made.like.set("model", "known").set("gradient_sync", "mirrored").set("origin", "measured");
  made.like.set("case_id", "0123456789ab").set("global_batch", 256).set("batch", 64);
  for (int round = 1; round <= rounds; ++round) {
    for (const int n : ranks) made.speedups[round][n] = noisy(law.speedup(n));
  }
  return made;
}
constexpr auto kQuiet = [](double speedup) { return speedup; };

const ResultRow& row_of(const std::vector<ResultRow>& rows, std::string_view law,
                        std::string_view parameter) {
  return *std::ranges::find_if(rows, [&](const ResultRow& row) {
    return row.get("law") == law && row.get("parameter") == parameter;
  });
}

TEST(LawRows, HaveWhatTheSpeedupsWereMadeFrom) {
  const Law law{0.1, 0.009};
  const auto rows = laws_of({scaling(law, {2, 4, 8}, 6, kQuiet)});
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_NEAR(number_in(row_of(rows, "usl", "sigma"), "value"), 0.1, 1e-10);
  EXPECT_NEAR(number_in(row_of(rows, "usl", "kappa"), "value"), 0.009, 1e-10);
  EXPECT_NEAR(number_in(row_of(rows, "usl", "peak_ranks"), "value"), 10, 1e-8);
  const ResultRow& sigma = row_of(rows, "usl", "sigma");
  EXPECT_EQ(sigma.get("points"), "6");
  EXPECT_EQ(sigma.get("ranks"), "1;2;4;8");
  EXPECT_EQ(sigma.get("label"), "known mirrored global_batch=256");
  EXPECT_NEAR(number_in(sigma, "value_ci_low"), 0.1, 1e-10);
  EXPECT_NEAR(number_in(sigma, "residual"), 0, 1e-10);
  // The wrong law for them: it says so by its residual.
  EXPECT_GT(number_in(row_of(rows, "amdahl", "sigma"), "residual"), 0.04);
  const auto amdahl = laws_of({scaling({0.05, 0}, {2, 4, 8}, 2, kQuiet)});
  EXPECT_NEAR(number_in(row_of(amdahl, "amdahl", "sigma"), "value"), 0.05, 1e-12);
  EXPECT_EQ(row_of(amdahl, "amdahl", "sigma").get("value_ci_low"), "") << "of two rounds";
}

TEST(LawRows, SayWhyThereIsNoFit) {
  const auto few = laws_of({scaling({0.1, 0}, {2, 4}, 6, kQuiet)});
  for (const ResultRow& row : few) {
    EXPECT_EQ(row.get("status"), "skipped");
    EXPECT_EQ(row.get("value"), "");
    EXPECT_EQ(row.get("note"), "too few N: 1, 2, 4, and at least 4 are needed");
  }
  const auto weak = laws_of({scaling({0.1, 0.01}, {2, 4, 8}, 6, kQuiet, /*weak=*/true)});
  EXPECT_THAT(row_of(weak, "amdahl", "sigma").get("note"), HasSubstr("weak scaling"));
  EXPECT_EQ(row_of(weak, "amdahl", "sigma").get("value"), "");
  EXPECT_NEAR(number_in(row_of(weak, "usl", "sigma"), "value"), 0.1, 1e-10);
  EXPECT_EQ(row_of(weak, "usl", "sigma").get("label"), "known mirrored batch=64");
  MeasuredScaling two = scaling({0.1, 0.01}, {2, 4, 8}, 6, kQuiet);
  two.ambiguous = "two curves";
  EXPECT_EQ(row_of(laws_of({two}), "usl", "kappa").get("note"), "two curves");
}

TEST(LawRows, LeaveOutRoundsThatLackAnN) {
  MeasuredScaling some = scaling({0.1, 0.01}, {2, 4, 8}, 6, kQuiet);
  some.speedups[3].erase(8);
  EXPECT_EQ(row_of(laws_of({some}), "usl", "kappa").get("points"), "5");
  for (auto& [round, speedups] : some.speedups) speedups.erase(round % 2 == 0 ? 8 : 4);
  EXPECT_EQ(row_of(laws_of({some}), "usl", "kappa").get("note"), "no round has all N");
}

TEST(LawRows, SayWhereThereIsNoPeak) {
  const auto none = laws_of({scaling({0.1, -0.001}, {2, 4, 8}, 6, kQuiet)});
  EXPECT_NEAR(number_in(row_of(none, "usl", "kappa"), "value"), -0.001, 1e-10);
  EXPECT_EQ(row_of(none, "usl", "peak_ranks").get("value"), "");
  EXPECT_THAT(row_of(none, "usl", "peak_ranks").get("note"), HasSubstr("no peak"));
  MeasuredScaling one = scaling({0.1, 0.009}, {2, 4, 8}, 6, kQuiet);
  for (auto& [n, speedup] : one.speedups[1]) speedup = Law{0.1, -0.001}.speedup(n);
  const ResultRow peak = row_of(laws_of({one}), "usl", "peak_ranks");
  EXPECT_NEAR(number_in(peak, "value"), 10, 1e-8);
  EXPECT_EQ(peak.get("value_ci_low"), "");
  EXPECT_THAT(peak.get("note"), HasSubstr("in 1 of 6 rounds"));
}

TEST(LawRows, SummariseRoundsThatDiffer) {
  MeasuredScaling made = scaling({0.1, 0.009}, {2, 4, 8}, 7, kQuiet);
  for (auto& [n, speedup] : made.speedups[1]) speedup = Law{0.19, 0.01}.speedup(n);
  for (auto& [n, speedup] : made.speedups[2]) speedup = Law{0.02, 0.005}.speedup(n);
  const ResultRow peak = row_of(laws_of({made}), "usl", "peak_ranks");
  EXPECT_NEAR(number_in(peak, "value"), 10, 1e-8);
  EXPECT_LT(number_in(peak, "value_ci_low"), 10);
  EXPECT_GT(number_in(peak, "value_ci_high"), 10);
  EXPECT_NEAR(number_in(peak, "residual"), 0, 1e-10) << "the medians are those of one law";
}

TEST(LawRows, LeaveOutRoundsWithoutAFit) {
  MeasuredScaling some = scaling({0.1, 0.009}, {2, 4, 8}, 6, kQuiet);
  for (auto& [n, speedup] : some.speedups[1]) speedup = 0;
  for (const ResultRow& row : laws_of({some})) {
    EXPECT_EQ(row.get("value_ci_low"), "") << "of five";
  }
}

/// The share of worlds in which the published interval of a parameter holds the true one.
double coverage(const Law& law, const char* name, const char* parameter, double truth) {
  constexpr int kWorlds = 2000, kRounds = 8;
  std::mt19937_64 random(20260102);
  std::normal_distribution<double> normal(0, 0.01);
  int inside = 0;
  for (int i = 0; i < kWorlds; ++i) {
    const auto noisy = [&](double speedup) { return speedup * std::exp(normal(random)); };
    const auto rows = laws_of({scaling(law, {2, 4, 8}, kRounds, noisy)});
    const ResultRow& row = row_of(rows, name, parameter);
    const double low = number_in(row, "value_ci_low"), high = number_in(row, "value_ci_high");
    if (low <= truth && truth <= high) ++inside;
  }
  return static_cast<double>(inside) / kWorlds;
}

TEST(LawSimulation, IntervalsHoldTheTruthAsOftenAsTheySay) {
  const Law usl{0.05, 0.004}, amdahl{0.08, 0};
  for (const double held :
       {coverage(amdahl, "amdahl", "sigma", 0.08), coverage(usl, "usl", "sigma", 0.05),
        coverage(usl, "usl", "kappa", 0.004), coverage(usl, "usl", "peak_ranks", *usl.peak())}) {
    EXPECT_GE(held, 0.93);
    EXPECT_LE(held, 0.97);
  }
}

}  // namespace
}  // namespace scalebench
