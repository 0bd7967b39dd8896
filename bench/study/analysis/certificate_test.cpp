// SPDX-License-Identifier: Apache-2.0
// The order of an A/A comparison's launches, and what made-up launches certify.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "bench/study/analysis/pairs.hpp"
#include "bench/study/analysis/tables.hpp"
#include "bench/study/plan/plan.hpp"

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

std::string sides(const std::vector<PlannedLaunch>& plan) {
  std::string letters;
  for (const PlannedLaunch& launch : plan) letters += launch.name.back();
  return letters;
}

TEST(CertifyPlan, DrawsWhichOfEachPairComesFirst) {
  const std::vector<PlannedLaunch> plan = certify_plan(config_of(), {.devices = 2});
  ASSERT_EQ(plan.size(), 40U);
  const std::map<int, bool> is_b = sides_of(plan);
  ASSERT_EQ(is_b.size(), 40U);
  int b_first = 0;
  for (std::size_t i = 0; i < 40; i += 2) {
    const bool first = is_b.at(plan[i].number);
    EXPECT_NE(first, is_b.at(plan[i + 1].number)) << "a pair is an A and a B";
    b_first += first ? 1 : 0;
    EXPECT_EQ(plan[i].name, first ? "allreduce-n2-b" : "allreduce-n2-a");
  }
  EXPECT_GT(b_first, 3);
  EXPECT_LT(b_first, 17);
  EXPECT_EQ(sides(certify_plan(config_of(), {.devices = 2})), sides(plan));
  EXPECT_NE(sides(certify_plan(config_of(2), {.devices = 2})), sides(plan));
  EXPECT_NE(plan[0].arguments, plan[1].arguments) << "each its own shuffle";
}

TEST(CertifyPlan, OtherStudiesHaveNoSides) {
  EXPECT_TRUE(sides_of(plan_of(config_of(), {.devices = 2})).empty());
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

  certificate = certificate_of(a, std::vector<LaunchRows>());
  EXPECT_EQ(certificate.compared, 0U);
  EXPECT_FALSE(certificate.certified());
  EXPECT_FALSE(certificate_of(std::vector<LaunchRows>(), std::vector<LaunchRows>()).certified());
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
