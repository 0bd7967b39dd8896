// SPDX-License-Identifier: Apache-2.0
// The order of an A/A comparison's launches, and what made-up launches certify.
#include "bench/study/certificate.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "bench/study/certify_plan.hpp"

namespace scalebench {
namespace {

using testing::HasSubstr;

StudyConfig config_of(std::uint64_t seed = 1) {
  StudyConfig config;
  config.launches = 20;
  config.ranks = {2};
  config.seed = seed;
  config.allreduce.emplace();
  return config;
}

TEST(CertifyPlan, DrawsWhichOfEachPairComesFirst) {
  const CertifyPlan plan = certify_plan(config_of(), {.devices = 2});
  ASSERT_EQ(plan.launches.size(), 40U);
  int b_first = 0;
  for (std::size_t i = 0; i < 40; i += 2) {
    EXPECT_NE(plan.is_b[i], plan.is_b[i + 1]) << "a pair is an A and a B";
    b_first += plan.is_b[i] ? 1 : 0;
    EXPECT_EQ(plan.launches[i].name, plan.is_b[i] ? "allreduce-n2-b" : "allreduce-n2-a");
  }
  EXPECT_GT(b_first, 3);
  EXPECT_LT(b_first, 17);
  EXPECT_EQ(certify_plan(config_of(), {.devices = 2}).is_b, plan.is_b);
  EXPECT_NE(certify_plan(config_of(2), {.devices = 2}).is_b, plan.is_b);
  EXPECT_NE(plan.launches[0].arguments, plan.launches[1].arguments) << "each its own shuffle";
}

TEST(CertifyPlan, SortsRowsBySide) {
  const CertifyPlan plan{std::vector<PlannedLaunch>(3), {false, true, true}};
  const std::vector<LaunchRows> rows{{1, {}, {}}, {2, {}, {}}, {3, {}, {}}};
  EXPECT_EQ(rows_of_side(rows, plan, false).size(), 1U);
  EXPECT_EQ(rows_of_side(rows, plan, true)[1].launch, 3);
}

/// What one launch says about `cells` cases, all around 1 ms; `factor` for the first of them.
LaunchRows launch_of(int number, int cells, double factor, std::mt19937_64& random) {
  std::normal_distribution<double> noise(1, 0.002);
  LaunchRows launch{number, {}, {}};
  for (int cell = 0; cell < cells; ++cell) {
    ResultRow& row = launch.cases.emplace_back(allreduce_schema());
    row.set("case_id", fmt::format("case{}", cell)).set("status", "ok").set("ranks", 2);
    row.set("size_bytes", 1024 << cell).set("algorithm", "ring").set("origin", "measured");
    row.set("seconds_median", 1e-3 * noise(random) * (cell == 0 ? factor : 1.0));
  }
  return launch;
}

struct Sides {
  std::vector<LaunchRows> a, b;
};

Sides sides_of(int launches, int cells, double factor_of_b = 1) {
  std::mt19937_64 random(5);
  Sides sides;
  for (int i = 0; i < launches; ++i) {
    sides.a.push_back(launch_of(2 * i + 1, cells, 1, random));
    sides.b.push_back(launch_of(2 * i + 2, cells, factor_of_b, random));
  }
  return sides;
}

TEST(Certificate, PassesEqualSidesAndSaysWhatWouldBeSeen) {
  const auto [a, b] = sides_of(10, 12);
  const Certificate certificate = certificate_of(a, b);
  EXPECT_TRUE(certificate.certified()) << certificate.incomplete;
  EXPECT_EQ(certificate.cells, 12U);
  EXPECT_EQ(certificate.differing, 0U);
  EXPECT_LT(certificate.spread, 0.005);
  EXPECT_GT(certificate.smallest_effect, 0.03);
  EXPECT_LT(certificate.smallest_effect, 0.04);
  ASSERT_EQ(certificate.rows.size(), 12U);
  EXPECT_EQ(certificate.rows[0].get("verdict"), "SAME");
  EXPECT_EQ(certificate.rows[0].get("launches_a"), "10");
  EXPECT_EQ(certificate.rows[0].get("size_bytes"), "1024") << "sorted, as every file";
}

TEST(Certificate, FailsWhenMoreThanOneInTwentyDiffers) {
  for (const int cells : {12, 20}) {
    const auto [a, b] = sides_of(10, cells, 1.1);
    const Certificate certificate = certificate_of(a, b);
    EXPECT_EQ(certificate.differing, 1U);
    EXPECT_EQ(certificate.incomplete, "");
    EXPECT_EQ(certificate.certified(), cells == 20) << "1 of 20 is 5 %, as chance allows";
    EXPECT_EQ(certificate.rows[0].get("verdict"), "SLOWER");
  }
}

TEST(Certificate, CertifiesNothingThatItCouldNotHaveSeen) {
  const auto [a, b] = sides_of(5, 12);
  const Certificate certificate = certificate_of(a, b);
  EXPECT_FALSE(certificate.certified());
  EXPECT_THAT(certificate.incomplete, HasSubstr("5 launches a side"));
  EXPECT_THAT(certificate.incomplete, HasSubstr("takes 6"));
}

TEST(Certificate, IsIncompleteWithAWrongOrMissingCell) {
  auto [a, b] = sides_of(10, 4);
  b[3].cases[1].set("status", "wrong").set("note", "3 elements");
  Certificate certificate = certificate_of(a, b);
  EXPECT_THAT(certificate.incomplete, HasSubstr("1 of 4 cells"));
  EXPECT_EQ(certificate.rows[1].get("status"), "wrong");
  EXPECT_EQ(certificate.rows[1].get("verdict"), "MISSING");
  EXPECT_EQ(certificate.rows[1].get("note"), "3 elements");

  certificate = certificate_of(a, {});
  EXPECT_EQ(certificate.compared, 0U);
  EXPECT_FALSE(certificate.certified());
  EXPECT_FALSE(certificate_of({}, {}).certified());
}

TEST(Certificate, ListsWhatWasSkippedWithoutCountingIt) {
  auto [a, b] = sides_of(10, 3);
  for (auto* side : {&a, &b}) {
    for (LaunchRows& launch : *side) {
      launch.cases[2].set("status", "skipped").set("seconds_median", "").set("note", "no device");
    }
  }
  const Certificate certificate = certificate_of(a, b);
  EXPECT_TRUE(certificate.certified());
  EXPECT_EQ(certificate.cells, 2U);
  EXPECT_EQ(certificate.rows.size(), 3U);
  EXPECT_EQ(certificate.rows[2].get("status"), "skipped");
  EXPECT_EQ(certificate.rows[2].get("note"), "no device");
  EXPECT_EQ(certificate.rows[2].get("verdict"), "");
}

}  // namespace
}  // namespace scalebench
