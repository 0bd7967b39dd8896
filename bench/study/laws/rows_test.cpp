// SPDX-License-Identifier: Apache-2.0
// Rows of laws.csv from speedups whose laws are known: values, reasons, and, with noise in every
// round, intervals that hold the true parameters as often as they say.
#include "bench/study/laws/rows.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "bench/study/laws/laws.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;

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
  const auto rows = law_rows({scaling(law, {2, 4, 8}, 6, kQuiet)});
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_NEAR(number_in(row_of(rows, "usl", "sigma"), "value"), 0.1, 1e-10);
  EXPECT_NEAR(number_in(row_of(rows, "usl", "kappa"), "value"), 0.009, 1e-10);
  EXPECT_NEAR(number_in(row_of(rows, "usl", "peak_ranks"), "value"), 10, 1e-8);
  const ResultRow& sigma = row_of(rows, "usl", "sigma");
  EXPECT_EQ(sigma.get("interval"), "95% of rounds");
  EXPECT_EQ(sigma.get("rounds"), "6");
  EXPECT_EQ(sigma.get("ranks_used"), "1;2;4;8");
  EXPECT_EQ(sigma.get("global_batch"), "256");
  EXPECT_EQ(sigma.get("batch"), "");  // of a rank: another one on every N
  EXPECT_NEAR(number_in(sigma, "rms_residual"), 0, 1e-10);
  // The wrong law for them: it says so by its residual.
  EXPECT_GT(number_in(row_of(rows, "amdahl", "sigma"), "rms_residual"), 0.04);
  const auto amdahl = law_rows({scaling({0.05, 0}, {2, 4, 8}, 2, kQuiet)});
  EXPECT_NEAR(number_in(row_of(amdahl, "amdahl", "sigma"), "value"), 0.05, 1e-12);
  EXPECT_EQ(row_of(amdahl, "amdahl", "sigma").get("interval"), "range of rounds");
}

TEST(LawRows, SayWhyThereIsNoFit) {
  const auto few = law_rows({scaling({0.1, 0}, {2, 4}, 6, kQuiet)});
  for (const ResultRow& row : few) {
    EXPECT_EQ(row.get("status"), "skipped");
    EXPECT_EQ(row.get("value"), "");
    EXPECT_EQ(row.get("note"), "too few N: 1, 2, 4, and at least 4 are needed");
  }
  const auto weak = law_rows({scaling({0.1, 0.01}, {2, 4, 8}, 6, kQuiet, /*weak=*/true)});
  EXPECT_THAT(row_of(weak, "amdahl", "sigma").get("note"), HasSubstr("weak scaling"));
  EXPECT_EQ(row_of(weak, "amdahl", "sigma").get("value"), "");
  EXPECT_NEAR(number_in(row_of(weak, "usl", "sigma"), "value"), 0.1, 1e-10);
  EXPECT_EQ(row_of(weak, "usl", "sigma").get("batch"), "64");
  MeasuredScaling two = scaling({0.1, 0.01}, {2, 4, 8}, 6, kQuiet);
  two.ambiguous = "two curves";
  EXPECT_EQ(row_of(law_rows({two}), "usl", "kappa").get("note"), "two curves");
}

TEST(LawRows, LeaveOutRoundsThatLackAnN) {
  MeasuredScaling some = scaling({0.1, 0.01}, {2, 4, 8}, 6, kQuiet);
  some.speedups[3].erase(8);
  EXPECT_EQ(row_of(law_rows({some}), "usl", "kappa").get("rounds"), "5");
  for (auto& [round, speedups] : some.speedups) speedups.erase(round % 2 == 0 ? 8 : 4);
  EXPECT_EQ(row_of(law_rows({some}), "usl", "kappa").get("note"), "no round has all N");
}

TEST(LawRows, SayWhereThereIsNoPeak) {
  const auto none = law_rows({scaling({0.1, -0.001}, {2, 4, 8}, 6, kQuiet)});
  EXPECT_NEAR(number_in(row_of(none, "usl", "kappa"), "value"), -0.001, 1e-10);
  EXPECT_EQ(row_of(none, "usl", "peak_ranks").get("value"), "");
  EXPECT_THAT(row_of(none, "usl", "peak_ranks").get("note"), HasSubstr("no peak"));
  MeasuredScaling one = scaling({0.1, 0.009}, {2, 4, 8}, 6, kQuiet);
  for (auto& [n, speedup] : one.speedups[1]) speedup = Law{0.1, -0.001}.speedup(n);
  const ResultRow peak = row_of(law_rows({one}), "usl", "peak_ranks");
  EXPECT_NEAR(number_in(peak, "value"), 10, 1e-8);
  EXPECT_EQ(peak.get("value_ci_low"), "");
  EXPECT_THAT(peak.get("note"), HasSubstr("in 1 of 6 rounds"));
}

TEST(LawRows, SummariseRoundsThatDiffer) {
  MeasuredScaling made = scaling({0.1, 0.009}, {2, 4, 8}, 3, kQuiet);
  for (auto& [n, speedup] : made.speedups[1]) speedup = Law{0.19, 0.01}.speedup(n);
  for (auto& [n, speedup] : made.speedups[2]) speedup = Law{0.02, 0.005}.speedup(n);
  const ResultRow peak = row_of(law_rows({made}), "usl", "peak_ranks");
  EXPECT_NEAR(number_in(peak, "value"), 10, 1e-8);
  EXPECT_NEAR(number_in(peak, "value_ci_low"), 9, 1e-8);
  EXPECT_NEAR(number_in(peak, "value_ci_high"), 14, 1e-8);
  EXPECT_EQ(peak.get("interval"), "range of rounds");
  EXPECT_NEAR(number_in(peak, "rms_residual"), 0, 1e-10) << "the medians are those of one law";
}

TEST(LawRows, LeaveOutRoundsWithoutAFit) {
  MeasuredScaling some = scaling({0.1, 0.009}, {2, 4, 8}, 6, kQuiet);
  for (auto& [n, speedup] : some.speedups[1]) speedup = 0;
  for (const ResultRow& row : law_rows({some})) {
    EXPECT_EQ(row.get("interval"), "range of rounds") << "of five";
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
    const auto rows = law_rows({scaling(law, {2, 4, 8}, kRounds, noisy)});
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
