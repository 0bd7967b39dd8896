// SPDX-License-Identifier: Apache-2.0
// What is told to the log comes back in order and in pairs, also when a thread beside the rank's
// own ends what that one posted. Nothing here depends on a duration.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "bench/training/epoch/attribution.hpp"

namespace scalebench {
namespace {

TEST(EventLog, KeepsWhatHappenedSinceItsRestart) {
  int steps = 0;
  EventLog log([&] { ++steps; });
  log.begin_step();
  log.enter(Phase::sync);
  log.posted(Exchange::collective);
  log.ended();
  log.restart();
  log.begin_step();
  log.enter(Phase::forward);
  log.posted(Exchange::wait);
  log.enter(Phase::sync);
  log.ended();
  log.posted(Exchange::transfer);
  const RankTrace trace = log.read();
  EXPECT_EQ(steps, 2);
  ASSERT_EQ(trace.steps.size(), 1U);
  ASSERT_EQ(trace.phases.size(), 2U);
  EXPECT_EQ(trace.phases[0].phase, Phase::forward);
  EXPECT_EQ(trace.phases[1].phase, Phase::sync);
  ASSERT_EQ(trace.exchanges.size(), 2U);
  EXPECT_EQ(trace.exchanges[0].kind, Exchange::wait);
  EXPECT_EQ(trace.exchanges[1].kind, Exchange::transfer);
  EXPECT_EQ(trace.exchanges[1].ended, trace.end) << "still in flight";
  const double in_order[] = {trace.begin,
                             trace.steps[0],
                             trace.phases[0].at,
                             trace.exchanges[0].posted,
                             trace.phases[1].at,
                             trace.exchanges[0].ended,
                             trace.exchanges[1].posted,
                             trace.end};
  for (std::size_t i = 1; i < std::size(in_order); ++i) EXPECT_LE(in_order[i - 1], in_order[i]);
  EXPECT_NEAR(states_of(trace, arrivals_of(trace), trace.begin, trace.end).total(),
              trace.end - trace.begin, 1e-9);
}

// As a device knows it of two buckets, all posted before any is said to have ended.
TEST(EventLog, ReckonsBackWhatIsToldLater) {
  EventLog log;
  const double before = log.read().end;
  for (const double ago : {0.3, 0.2}) log.posted_ago(Exchange::collective, ago);
  for (const double ago : {0.1, 0.05}) log.ended_ago(ago);
  const RankTrace trace = log.read();
  ASSERT_EQ(trace.exchanges.size(), 2U);
  const double after = trace.end;
  const auto expect_ago = [&](double at, double seconds) {
    EXPECT_GE(at, before - seconds);
    EXPECT_LE(at, after - seconds);
  };
  expect_ago(trace.exchanges[0].posted, 0.3);
  expect_ago(trace.exchanges[0].ended, 0.1);
  expect_ago(trace.exchanges[1].posted, 0.2);
  expect_ago(trace.exchanges[1].ended, 0.05);
}

TEST(EventLog, PairsWhatAnotherThreadEnds) {
  constexpr std::size_t kExchanges = 50'000;  // more than one allocation
  EventLog log;
  std::atomic<std::size_t> posted = 0;
  std::thread other([&] {
    for (std::size_t i = 0; i < kExchanges; ++i) {
      while (posted.load() <= i) std::this_thread::yield();
      log.ended();
    }
  });
  for (std::size_t i = 0; i < kExchanges; ++i) {
    log.posted(Exchange::collective);
    ++posted;
    if (i % 10'000 == 0) log.read();
  }
  other.join();
  const RankTrace trace = log.read();
  ASSERT_EQ(trace.exchanges.size(), kExchanges);
  for (const ExchangeTimes& one : trace.exchanges) ASSERT_LE(one.posted, one.ended);
}

TEST(EventLog, MovesToAnotherClock) {
  const RankTrace trace{.begin = 1,
                        .end = 9,
                        .phases = {{2, Phase::load}},
                        .exchanges = {{Exchange::wait, 3, 4}},
                        .steps = {2}};
  const RankTrace moved = on_clock(trace, [](double at) { return at + 10; });
  EXPECT_EQ(moved.begin, 11);
  EXPECT_EQ(moved.end, 19);
  EXPECT_EQ(moved.phases[0].at, 12);
  EXPECT_EQ(moved.exchanges[0].posted, 13);
  EXPECT_EQ(moved.exchanges[0].ended, 14);
  EXPECT_EQ(moved.steps[0], 12);
}

}  // namespace
}  // namespace scalebench
