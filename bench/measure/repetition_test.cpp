// SPDX-License-Identifier: Apache-2.0
// Threads as ranks: the count is what was asked, every rank holds the same result, and a rank that
// is slow in the operation is the one that is named. No bound on any time.
#include "bench/measure/repetition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "collectives/control.hpp"
#include "collectives/thread_communicator.hpp"

namespace scalebench {
namespace {

StopRule exactly(std::size_t count) {
  StopRule rule;
  rule.fixed = count;
  return rule;
}

TimingMethod briefly(StartMode start, TimingMode mode = TimingMode::isolated) {
  return {.warm_up = {.fixed = 2}, .stop = exactly(25), .start = start, .mode = mode};
}

/// Counts calls; the operation does nothing.
struct Calls {
  std::size_t prepared = 0;
  std::size_t enqueued = 0;
  std::size_t waited = 0;
  CollectiveOperation operation() {
    return {[this] { ++prepared; }, [this] { ++enqueued; }, [this] { ++waited; }};
  }
};

TEST(CollectiveTimer, RepeatsExactlyAsOftenAsAskedAndAgreesOnAllRanks) {
  for (const StartMode start : {StartMode::clock, StartMode::barrier}) {
    run_ranks(3, [&](Communicator& host) {
      Calls calls;
      CollectiveTimer timer(host);
      const Timing timing = timer.measure(calls.operation(), briefly(start));
      EXPECT_EQ(timing.repetitions.size(), 25U);
      EXPECT_EQ(timing.residual_seconds, 0);
      for (const Repetition& repetition : timing.repetitions) {
        EXPECT_GE(repetition.skew_seconds, 0);
        EXPECT_GT(repetition.end, repetition.start);
        ASSERT_EQ(repetition.rank_seconds.size(), 3U);
        EXPECT_EQ(repetition.rank_seconds[static_cast<std::size_t>(repetition.slowest_rank)],
                  std::ranges::max(repetition.rank_seconds));
        EXPECT_EQ(std::ranges::max(repetition.rank_seconds),
                  static_cast<float>(repetition.seconds));
        const auto all = all_gather(host, repetition.seconds);
        EXPECT_EQ(all[0], all[1]);
        EXPECT_EQ(all[0], all[2]);
      }
    });
  }
}

TEST(CollectiveTimer, AgreesOnTheOperationsOfARepetition) {
  run_ranks(3, [](Communicator& host) {
    Calls calls;
    const Timing timing = time_collective(host, calls.operation(), briefly(StartMode::barrier));
    const auto all = all_gather(host, static_cast<double>(timing.operations));
    EXPECT_EQ(all[0], all[1]);
    EXPECT_EQ(all[0], all[2]);
    EXPECT_EQ(calls.enqueued, 1 + 2 + 25 * timing.operations);
    EXPECT_EQ(calls.waited, calls.enqueued);
    EXPECT_EQ(calls.prepared, 1U + 2U + 25U) << "buffers cannot rotate within a repetition";
  });
}

TEST(CollectiveTimer, PipelinesBackToBackWithOneWait) {
  run_ranks(2, [](Communicator& host) {
    Calls calls;
    TimingMethod method = briefly(StartMode::barrier, TimingMode::pipelined);
    method.pipeline = 7;
    const Timing timing = time_collective(host, calls.operation(), method);
    EXPECT_EQ(timing.operations, 7U);
    EXPECT_EQ(calls.enqueued, 1U + 2U + 25U * 7U);
    EXPECT_EQ(calls.waited, 1U + 2U + 25U);
  });
}

TEST(CollectiveTimer, DividesByTheOperations) {
  run_ranks(2, [](Communicator& host) {
    const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    TimingMethod method{.warm_up = {.fixed = 0}, .stop = exactly(3)};
    method.mode = TimingMode::pipelined;
    method.pipeline = 20;
    const Timing timing = time_collective(host, {[] {}, sleep, [] {}}, method);
    const double fastest = std::ranges::min(timing.repetitions, {}, &Repetition::seconds).seconds;
    EXPECT_GE(fastest, 0.001);
    EXPECT_LT(fastest, 20 * 0.001) << "of one operation, not of twenty";
  });
}

TEST(CollectiveTimer, NamesTheSlowRank) {
  run_ranks(3, [](Communicator& host) {
    const auto operation = [&] {
      if (host.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    TimingMethod method{.warm_up = {.fixed = 0}, .stop = exactly(5), .start = StartMode::barrier};
    const Timing timing = time_collective(host, {[] {}, operation, [] {}}, method);
    EXPECT_EQ(timing.operations, 1U);
    for (const Repetition& repetition : timing.repetitions) {
      EXPECT_EQ(repetition.slowest_rank, 1);
      EXPECT_GE(repetition.seconds, 0.02) << "a sleep lasts at least as long as it was told";
      EXPECT_GE(repetition.rank_seconds[1], 0.02F);
    }
  });
}

TEST(CollectiveTimer, FallsBackToTheBarrierWhereTheClocksAreNotGoodEnough) {
  // On a host each, the clocks are known to some microseconds: too few for what takes none.
  run_ranks(
      2,
      [](Communicator& host) {
        Calls calls;
        CollectiveTimer timer(host);
        const Timing timing = timer.measure(calls.operation(), briefly(StartMode::clock));
        EXPECT_EQ(timing.start, StartMode::barrier);
        EXPECT_GT(timing.residual_seconds, 0);
        EXPECT_EQ(timing.repetitions.size(), 25U);
      },
      SendMode::rendezvous, 1);
}

TEST(CollectiveTimer, StopsByItselfAndSaysWhetherItConverged) {
  run_ranks(2, [](Communicator& host) {
    TimingMethod method{.warm_up = {.at_least_seconds = 0}, .start = StartMode::barrier};
    method.stop.at_most = 60;
    CollectiveTimer timer(host);
    for (int cell = 0; cell < 2; ++cell) {
      const Timing timing = timer.measure({[] {}, [&] { host.barrier(); }, [] {}}, method);
      EXPECT_GE(timing.repetitions.size(), 30U);
      EXPECT_LE(timing.repetitions.size(), 60U);
      if (!timing.converged) {
        EXPECT_EQ(timing.repetitions.size(), 60U);
      }
    }
  });
}

TEST(CollectiveTimer, DecidesMoreOftenWhereRepetitionsAreLong) {
  run_ranks(2, [](Communicator& host) {
    const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
    TimingMethod method{.warm_up = {.fixed = 1}, .start = StartMode::barrier};
    method.stop.at_most_seconds = 0.01;
    const Timing timing = time_collective(host, {[] {}, sleep, [] {}}, method);
    EXPECT_LE(timing.repetitions.size(), 2U) << "a batch of ten would take five times the cap";
    EXPECT_FALSE(timing.converged);
  });
}

}  // namespace
}  // namespace scalebench
