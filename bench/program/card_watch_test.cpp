// SPDX-License-Identifier: Apache-2.0
// Looks beside spans of time: which count, what they come to, and how that stands in rows.
#include "bench/program/card_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <thread>
#include <vector>

#include "bench/record/columns.hpp"

namespace scalebench {
namespace {

constexpr std::uint64_t kIdle = 0x1, kPowerCap = 0x4, kHot = 0x40;

CardLook look(double seconds, double mhz, std::uint64_t reasons = 0) {
  return {.seconds = seconds, .clock_mhz = mhz, .watts = mhz / 10, .reasons = reasons};
}

CardSummary of_span(const std::vector<CardLook>& looks, double begin, double end) {
  return summary_of(looks, std::vector{TimeSpan{begin, end}});
}

TEST(CardSummary, IsOfTheLooksInsideAnySpan) {
  const std::vector<CardLook> looks{look(1.0, 900, kHot), look(1.1, 1700), look(1.2, 1500, kIdle),
                                    look(1.3, 800, kHot), look(1.4, 1400, kPowerCap)};
  const CardSummary summary =
      summary_of(looks, std::vector{TimeSpan{1.05, 1.25}, TimeSpan{1.35, 1.5}});
  EXPECT_EQ(summary.clock_mhz, 1500);
  EXPECT_NEAR(summary.watts, (170 + 150 + 140) / 3.0, 1e-9);
  EXPECT_NEAR(summary.throttled_share, 1 / 3.0, 1e-9) << "idling is no throttling";
  EXPECT_NEAR(summary.power_capped_share, 1 / 3.0, 1e-9);
}

TEST(CardSummary, BetweenTwoLooksTheNearestCounts) {
  const std::vector<CardLook> looks{look(1.0, 900, kHot), look(1.05, 1700)};
  EXPECT_EQ(of_span(looks, 1.01, 1.011).clock_mhz, 900);
  EXPECT_EQ(of_span(looks, 1.04, 1.041).clock_mhz, 1700);
  EXPECT_EQ(of_span(looks, 1.1, 1.11).clock_mhz, 1700) << "after the last look";
  EXPECT_EQ(of_span(looks, 0.95, 0.96).clock_mhz, 900) << "before the first";
}

TEST(CardSummary, FarFromEveryLookNothingIsKnown) {
  for (const double begin : {0.5, 1.2}) {
    const CardSummary summary = of_span({look(1.0, 900)}, begin, begin + 0.01);
    EXPECT_TRUE(std::isnan(summary.clock_mhz));
    EXPECT_TRUE(std::isnan(summary.throttled_share));
    EXPECT_TRUE(std::isnan(summary.watts));
  }
  EXPECT_TRUE(std::isnan(of_span({}, 1, 2).clock_mhz));
}

/// A look each 25 ms at a counter that shows what it counted every 100 ms.
std::vector<CardLook> looks_at_counter(int looks, double watts_before, double watts_after,
                                       int change) {
  std::vector<CardLook> all;
  double joules = 1e6, shown = joules;
  for (int i = 0; i < looks; ++i) {
    if (i % 4 == 2) shown = joules;
    all.push_back({.seconds = 0.025 * i, .joules = shown});
    joules += 0.025 * (i < change ? watts_before : watts_after);
  }
  return all;
}

TEST(CardWatts, AreWhatTheCounterGrewByBetweenTheStepsInASpan) {
  const std::vector<CardLook> looks = looks_at_counter(40, 100, 700, 20);
  EXPECT_NEAR(of_span(looks, 0, 0.46).watts, 100, 1e-6);
  EXPECT_NEAR(of_span(looks, 0.52, 1).watts, 700, 1e-6) << "nothing of the time before";
  const CardSummary both = summary_of(looks, std::vector{TimeSpan{0, 0.46}, TimeSpan{0.52, 0.98}});
  EXPECT_NEAR(both.watts, 400, 1e-6);
  EXPECT_TRUE(std::isnan(of_span(looks, 0.5, 0.6).watts)) << "one step tells nothing";
}

TEST(CardWatts, AreUnknownWhereTheCounterBeginsAgain) {
  std::vector<CardLook> looks = looks_at_counter(40, 400, 400, 0);
  for (std::size_t i = 20; i < looks.size(); ++i) looks[i].joules -= 9e5;  // a new driver
  EXPECT_NEAR(of_span(looks, 0, 0.49).watts, 400, 1e-6);
  EXPECT_TRUE(std::isnan(of_span(looks, 0, 1).watts));
}

TEST(CardWatts, OfACardThatDoesNotCountAreTheDrivers) {
  EXPECT_EQ(of_span({look(1.0, 900), look(1.1, 1700)}, 1, 2).watts, 130);
}

TEST(CardColumns, UnknownIsEmptyAndZeroIsNot) {
  for (const Schema* schema : {&throughput_schema(), &kernels_schema()}) {
    ResultRow row(*schema);
    set_card(row, {});
    EXPECT_EQ(row.get("throttled_share") + text_in(row, "gpu_watts"), "");
    set_card(row, {.clock_mhz = 1700, .throttled_share = 0, .watts = 100});
    EXPECT_EQ(row.get("throttled_share"), "0");
    EXPECT_EQ(text_in(row, "gpu_watts"), schema->has("gpu_watts") ? "100" : "");
  }
}

TEST(CardColumns, OfSeveralCardsHoldTheMean) {
  const CardSummary slow{.clock_mhz = 1000, .watts = 70}, fast{.clock_mhz = 2000, .watts = 700};
  ResultRow row(throughput_schema());
  set_card(row, mean_of(std::vector{slow, fast}));
  EXPECT_EQ(row.get("gpu_watts"), "385") << "two cards take 770 W together";
  EXPECT_EQ(row.get("sm_clock_mhz"), "1500");
  row.set("ranks", 2).set("rank", "all").set("images_per_s", 7700.0);
  set_joules(row);
  EXPECT_EQ(row.get("gpu_joules_per_image"), "0.1");
  set_card(row, mean_of(std::vector{slow, CardSummary{}}));
  EXPECT_EQ(row.get("gpu_watts"), "") << "of one card nobody knows";
}

/// What a watch says once its card has told its clock, and more looks have followed.
CardSummary seen_by(DeviceWatch& watch, const std::function<bool(const CardSummary&)>& enough) {
  CardSummary summary;
  while (std::isnan(summary.clock_mhz) || !enough(summary)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    summary = watch.during(std::vector{TimeSpan{0, 1e12}});
  }
  return summary;
}

TEST(DeviceWatch, SaysWhatTheDriverSaidMeanwhile) {
  DeviceWatch watch("GPU-c0000000-0000-0000-0000-000000000000", SCALEBENCH_FAKE_NVML);
  const CardSummary summary =
      seen_by(watch, [](const CardSummary& one) { return !std::isnan(one.watts); });
  EXPECT_EQ(summary.clock_mhz, 1755);
  EXPECT_EQ(summary.power_capped_share, 1);
  // The counter grows by 2.5 J a look, and looks are 25 ms or more apart.
  EXPECT_GT(summary.watts, 0);
  EXPECT_LT(summary.watts, 100.5);
  EXPECT_EQ(watch.during(std::vector{TimeSpan{0, 1e12}}).clock_mhz, 1755) << "the last look stays";
}

TEST(DeviceWatch, OfASliceThereAreClocksAndNoWatts) {
  DeviceWatch watch("MIG-50000000-0000-0000-0000-000000000000", SCALEBENCH_FAKE_NVML);
  const CardSummary summary = seen_by(watch, [](const CardSummary&) { return true; });
  EXPECT_EQ(summary.clock_mhz, 1755);
  EXPECT_TRUE(std::isnan(summary.watts));
}

TEST(DeviceWatch, KnowsNothingWhereThereIsNothing) {
  const std::vector<TimeSpan> ever{{0, 1e12}};
  EXPECT_TRUE(std::isnan(DeviceWatch("").during(ever).clock_mhz));
  EXPECT_TRUE(std::isnan(DeviceWatch("GPU-c", "no such library").during(ever).clock_mhz));
  EXPECT_TRUE(std::isnan(DeviceWatch("GPU-d", SCALEBENCH_FAKE_NVML).during(ever).clock_mhz));
}

}  // namespace
}  // namespace scalebench
