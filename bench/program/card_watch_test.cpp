// SPDX-License-Identifier: Apache-2.0
// Readings beside repetitions: which count for which span, what several cards and a whole case come
// to, and how that stands in rows.
#include "bench/program/card_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "bench/record/columns.hpp"
#include "collectives/transport/thread_ranks_test.hpp"

namespace scalebench {
namespace {

using testing::Optional;

constexpr std::uint64_t kIdle = 0x1, kPowerCap = 0x4, kHot = 0x40;

DeviceReading reading(double seconds, double mhz, std::uint64_t reasons = 0) {
  return {.seconds = seconds, .clock_mhz = mhz, .watts = mhz / 10, .reasons = reasons};
}

DeviceSpell spell(double mhz, std::uint64_t reasons) {
  return {.clock_mhz = mhz, .watts = 100, .reasons = reasons};
}

TEST(DeviceSpell, TakesWhatWasReadInside) {
  const std::vector<DeviceReading> readings{reading(1.0, 900, kIdle), reading(1.1, 1700),
                                            reading(1.2, 1500, kPowerCap), reading(1.3, 800)};
  const DeviceSpell spell = spell_of(readings, 1.05, 1.25);
  EXPECT_EQ(spell.clock_mhz, 1600);
  EXPECT_EQ(spell.watts, 160);
  EXPECT_THAT(spell.reasons, Optional(kPowerCap));
}

TEST(DeviceSpell, BetweenTwoLooksTheNearestCounts) {
  const std::vector<DeviceReading> readings{reading(1.0, 900, kHot), reading(1.05, 1700)};
  EXPECT_EQ(spell_of(readings, 1.01, 1.011).clock_mhz, 900);
  EXPECT_EQ(spell_of(readings, 1.04, 1.041).clock_mhz, 1700);
  EXPECT_EQ(spell_of(readings, 1.1, 1.11).clock_mhz, 1700) << "after the last look";
  EXPECT_EQ(spell_of(readings, 0.95, 0.96).clock_mhz, 900) << "before the first";
}

TEST(DeviceSpell, FarFromEveryLookNothingIsKnown) {
  const std::vector<DeviceReading> readings{reading(1.0, 900)};
  for (const double begin : {0.5, 1.2}) {
    const DeviceSpell spell = spell_of(readings, begin, begin + 0.01);
    EXPECT_TRUE(std::isnan(spell.clock_mhz));
    EXPECT_FALSE(spell.reasons.has_value());
  }
  EXPECT_FALSE(spell_of({}, 1, 2).reasons.has_value());
}

/// A look each 25 ms at a counter that shows what it counted every 100 ms.
std::vector<DeviceReading> looks_at_counter(int looks, double watts_before, double watts_after,
                                            int change) {
  std::vector<DeviceReading> readings;
  double joules = 1e6, shown = joules;
  for (int i = 0; i < looks; ++i) {
    if (i % 4 == 2) shown = joules;
    readings.push_back({.seconds = 0.025 * i, .joules = shown});
    joules += 0.025 * (i < change ? watts_before : watts_after);
  }
  return readings;
}

TEST(DeviceWatts, AreWhatTheCounterGrewByOverTheTimeBetweenItsSteps) {
  std::vector<DeviceReading> readings = looks_at_counter(20, 100, 700, 10);
  EXPECT_EQ(set_watts(readings), 18U);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    SCOPED_TRACE(i);
    if (i <= 2 || i > 18) {
      EXPECT_TRUE(std::isnan(readings[i].watts)) << "before the first step, behind the last";
    } else {
      EXPECT_NEAR(readings[i].watts, i <= 10 ? 100 : 700, 1e-6);
    }
  }
  EXPECT_NEAR(spell_of(readings, 0.26, 0.45).watts, 700, 1e-6) << "nothing of the time before";
}

TEST(DeviceWatts, BeginAnewWhereTheCounterDoes) {
  std::vector<DeviceReading> readings = looks_at_counter(20, 400, 400, 0);
  for (std::size_t i = 9; i < readings.size(); ++i) readings[i].joules -= 9e5;  // a new driver
  set_watts(readings);
  EXPECT_NEAR(readings[6].watts, 400, 1e-6);
  for (std::size_t i = 7; i <= 10; ++i) EXPECT_TRUE(std::isnan(readings[i].watts)) << i;
  EXPECT_NEAR(readings[11].watts, 400, 1e-6);
}

TEST(DeviceWatts, OfACardThatDoesNotCountAreTheDrivers) {
  std::vector<DeviceReading> readings{reading(1.0, 900), reading(1.1, 1700)};
  EXPECT_EQ(set_watts(readings), 0U);
  EXPECT_EQ(readings[1].watts, 170);
  EXPECT_EQ(set_watts({}), 0U);
}

TEST(DeviceSpell, OfSeveralCardsTheWorstCounts) {
  const std::vector<DeviceSpell> cards{spell(1700, kIdle), {}, spell(1400, kHot)};
  const DeviceSpell worst = worst_of(cards);
  EXPECT_EQ(worst.clock_mhz, 1400);
  EXPECT_EQ(worst.watts, 100);
  EXPECT_THAT(worst.reasons, Optional(kIdle | kHot));
}

TEST(DeviceSpell, ACaseHasSharesOfWhatIsKnown) {
  const std::vector<DeviceSpell> repetitions{
      spell(1700, 0), spell(1600, kPowerCap), {}, spell(1500, kHot), spell(1400, kIdle)};
  const DeviceSummary summary = summary_of(repetitions);
  EXPECT_EQ(summary.clock_mhz, 1550);
  EXPECT_EQ(summary.throttled_share, 0.5) << "idling is no throttling";
  EXPECT_EQ(summary.power_capped_share, 0.25);
  EXPECT_TRUE(std::isnan(summary_of({}).throttled_share));
}

TEST(DeviceColumns, UnknownIsEmptyAndZeroIsNot) {
  ResultRow sample(samples_schema());
  set_spell(sample, {});
  EXPECT_EQ(sample.get("throttle_reasons") + sample.get("sm_clock_mhz"), "");
  set_spell(sample, spell(1700, 0));
  EXPECT_EQ(sample.get("throttle_reasons"), "none");
  set_spell(sample, spell(1700, kPowerCap | kHot));
  EXPECT_EQ(sample.get("throttle_reasons"), "sw_power_cap;hw_thermal_slowdown");
  for (const Schema* schema : {&throughput_schema(), &kernels_schema()}) {
    ResultRow row(*schema);
    set_spells(row, {});
    EXPECT_EQ(row.get("throttled_share") + text_in(row, "gpu_watts"), "");
    set_spells(row, std::vector{spell(1700, 0)});
    EXPECT_EQ(row.get("throttled_share"), "0");
    EXPECT_EQ(text_in(row, "gpu_watts"), schema->has("gpu_watts") ? "100" : "");
  }
}

TEST(DeviceColumns, WattsOfUnlikeCardsAreTheMeanOfTheirMeans) {
  const DeviceSpell slow{.clock_mhz = 1000, .watts = 70}, fast{.clock_mhz = 2000, .watts = 700};
  // In the time of one step of the slow card the fast one makes nine.
  const std::vector<std::vector<DeviceSpell>> cards{{slow}, std::vector<DeviceSpell>(9, fast)};
  ResultRow row(throughput_schema());
  set_spells_of_cards(row, cards);
  EXPECT_EQ(row.get("gpu_watts"), "385") << "two cards take 770 W together";
  EXPECT_EQ(row.get("sm_clock_mhz"), "2000");
  row.set("ranks", 2).set("rank", "all").set("images_per_s", 7700.0);
  set_joules(row);
  EXPECT_EQ(row.get("gpu_joules_per_image"), "0.1");
  set_spells_of_cards(row, std::vector<std::vector<DeviceSpell>>{{slow}, {{}}});
  EXPECT_EQ(row.get("gpu_watts"), "") << "of one card nobody knows";
  set_spells_of_cards(row, std::vector<std::vector<DeviceSpell>>{});
  EXPECT_EQ(row.get("gpu_watts"), "") << "no cards";
}

TEST(RankSpells, ReachEveryRankWhateverTheirNumber) {
  run_ranks(3, [](Communicator& host) {
    std::vector<DeviceSpell> mine(static_cast<std::size_t>(host.rank()));  // rank 0 sees nothing
    for (DeviceSpell& one : mine) one = spell(1000.0 * host.rank(), 1U << host.rank());
    const auto all = all_spells(host, mine);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].size(), 0U);
    ASSERT_EQ(all[2].size(), 2U);
    EXPECT_THAT(all[2][1].reasons, Optional(std::uint64_t{4}));
    const auto worst = worst_spells(host, mine);
    ASSERT_EQ(worst.size(), 2U);
    EXPECT_EQ(worst[0].clock_mhz, 1000);
    EXPECT_THAT(worst[0].reasons, Optional(std::uint64_t{6}));
    EXPECT_EQ(worst[1].clock_mhz, 2000);
    EXPECT_TRUE(worst_spells(host, {}).empty());
  });
}

TEST(DeviceWatch, JoinsWhatTheDriverSaysToSpans) {
  DeviceWatch watch("GPU-c0000000-0000-0000-0000-000000000000", SCALEBENCH_FAKE_NVML);
  ASSERT_TRUE(watch.sees());
  std::vector<DeviceSpell> spells;
  // The first look comes at once, but on another thread.
  while (spells.empty() || !spells[0].reasons)
    spells = watch.spells(std::vector{TimeSpan{0, 1e12}});
  EXPECT_EQ(spells[0].clock_mhz, 1755);
  EXPECT_THAT(spells[0].reasons, Optional(kPowerCap));
  // The counter grows by 2.5 J a look, and looks are 25 ms or more apart.
  while (std::isnan(spells[0].watts)) spells = watch.spells(std::vector{TimeSpan{0, 1e12}});
  EXPECT_GT(spells[0].watts, 0);
  EXPECT_LT(spells[0].watts, 100.5);
  EXPECT_TRUE(watch.spells(std::vector{TimeSpan{0, 1e12}})[0].reasons) << "the last look stays";
}

TEST(DeviceWatch, OfASliceThereAreClocksAndNoWatts) {
  DeviceWatch watch("MIG-50000000-0000-0000-0000-000000000000", SCALEBENCH_FAKE_NVML);
  std::vector<DeviceSpell> spells;
  // By the third look a card's counter has told its watts.
  for (int looks = 0; looks < 3;) {
    spells = watch.spells(std::vector{TimeSpan{0, 1e12}});
    if (spells[0].reasons) ++looks;
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  EXPECT_EQ(spells[0].clock_mhz, 1755);
  EXPECT_TRUE(std::isnan(spells[0].watts));
}

TEST(DeviceWatch, SeesNothingWhereThereIsNothing) {
  EXPECT_FALSE(DeviceWatch("").sees());
  EXPECT_FALSE(DeviceWatch("GPU-c", "no such library").sees());
  EXPECT_FALSE(DeviceWatch("GPU-d", SCALEBENCH_FAKE_NVML).sees());
  EXPECT_TRUE(DeviceWatch("").spells(std::vector{TimeSpan{0, 1}}).empty());
}

TEST(DeviceWatch, StepsInARowAreSpansInARow) {
  std::vector<TimeSpan> spans{{0, 1}};
  append_spans(std::vector{1.0, 2.0}, 10, spans);
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[1].begin, 7);
  EXPECT_EQ(spans[1].end, 8);
  EXPECT_EQ(spans[2].end, 10);
}

}  // namespace
}  // namespace scalebench
