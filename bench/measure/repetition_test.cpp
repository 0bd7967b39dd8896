// SPDX-License-Identifier: Apache-2.0
// Threads as ranks: the count is what was asked, every rank holds the same result, and a rank that
// is slow in the operation is the one that is named. No bound on any time.
#include "bench/measure/repetition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "bench/measure/statistics.hpp"
#include "collectives/control.hpp"
#include "collectives/transport/thread_ranks_test.hpp"

namespace scalebench {
namespace {

TEST(RepetitionPlan, RepeatsOperationsThatAreTooShortForTheClock) {
  EXPECT_EQ(operations_to_outlast_clock(1.0, 55e-9), 1U);
  EXPECT_EQ(operations_to_outlast_clock(1.2e-6, 55e-9), 1U) << "4.6 %";
  EXPECT_EQ(operations_to_outlast_clock(1.0e-6, 55e-9), 2U) << "5.5 %";
  EXPECT_EQ(operations_to_outlast_clock(0.1e-6, 55e-9), 11U);
  EXPECT_EQ(operations_to_outlast_clock(0, 55e-9), 1000U);
}

TEST(RepetitionPlan, DecidesAfterTensThenAfterTenths) {
  const StopRule rule;
  EXPECT_EQ(repetitions_to_decision(rule, 0, 1e-6), 10U);
  EXPECT_EQ(repetitions_to_decision(rule, 90, 1e-6), 10U);
  EXPECT_EQ(repetitions_to_decision(rule, 2000, 1e-6), 200U);
  EXPECT_EQ(repetitions_to_decision(rule, 4990, 1e-6), 10U) << "the cap is kept";
}

TEST(RepetitionPlan, DecidesMoreOftenWhereRepetitionsAreLong) {
  const StopRule rule;
  EXPECT_EQ(repetitions_to_decision(rule, 0, 0.1), 5U);
  EXPECT_EQ(repetitions_to_decision(rule, 0, 10), 1U);
}

TEST(RepetitionPlan, KeepsAFixedCount) {
  StopRule rule;
  rule.fixed = 13;
  EXPECT_EQ(repetitions_to_decision(rule, 0, 1e-6), 10U);
  EXPECT_EQ(repetitions_to_decision(rule, 10, 1e-6), 3U);
}

}  // namespace

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
    const Timing timing =
        CollectiveTimer(host).measure(calls.operation(), briefly(StartMode::barrier));
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
    const Timing timing = CollectiveTimer(host).measure(calls.operation(), method);
    EXPECT_EQ(timing.operations, 7U);
    EXPECT_EQ(calls.enqueued, 1U + 2U + 25U * 7U);
    EXPECT_EQ(calls.waited, 1U + 2U + 25U);
  });
}

TEST(CollectiveTimer, CutsItsRepetitionsWhereAnotherProgramIsMeasuredBeside) {
  run_ranks(2, [](Communicator& host) {
    Calls calls;
    CollectiveTimer timer(host);
    // Behind a barrier none is voided, however busy the machine is.
    TimingMethod method = briefly(StartMode::barrier);
    std::size_t begun = 0;
    method.next_part = [&] {
      ++begun;
      return 0.0;
    };
    const Timing timing = timer.measure(calls.operation(), method);
    EXPECT_EQ(timing.repetitions.size(), 25U);
    EXPECT_EQ(begun, 6U) << "parts of four, and one that is left";
  });
}

TEST(CollectiveTimer, BelievesInNoIntervalBeforeItsLastPart) {
  run_ranks(2, [](Communicator& host) {
    Calls calls;
    CollectiveTimer timer(host);
    TimingMethod method = briefly(StartMode::barrier);
    const double any = 1e9;  // of an interval: the first tens are narrow
    method.stop = {.at_most = 800, .at_most_seconds = 1000, .target = any};
    std::size_t begun = 0;
    method.next_part = [&] {
      ++begun;
      return 1000.0;  // as if it had waited so long, which is none of its own time
    };
    timer.measure(calls.operation(), method);
    EXPECT_GE(begun, TimingMethod::kParts - 1);
  });
}

TEST(CollectiveTimer, DividesByTheOperations) {
  run_ranks(2, [](Communicator& host) {
    const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    TimingMethod method{.warm_up = {.fixed = 0}, .stop = exactly(3)};
    method.mode = TimingMode::pipelined;
    method.pipeline = 20;
    const Timing timing = CollectiveTimer(host).measure({[] {}, sleep, [] {}}, method);
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
    const Timing timing = CollectiveTimer(host).measure({[] {}, operation, [] {}}, method);
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

TEST(CollectiveTimer, FollowsTheClocksThroughALongCell) {
  run_ranks(
      2,
      [](Communicator& host) {
        CollectiveTimer timer(host);
        std::set<double> anchors;  // of the clock as the repetitions saw it
        const auto look = [&] { anchors.insert(timer.clock().model().anchor); };
        const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(40)); };
        const Timing timing = timer.measure({look, sleep, [] {}}, briefly(StartMode::clock));
        if (host.rank() == 1 && timing.start == StartMode::clock) {
          EXPECT_GE(anchors.size(), 3U) << "at first, before the cell and within its second";
        }
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
    const Timing timing = CollectiveTimer(host).measure({[] {}, sleep, [] {}}, method);
    EXPECT_LE(timing.repetitions.size(), 2U) << "a batch of ten would take five times the cap";
    EXPECT_FALSE(timing.converged);
  });
}

}  // namespace

namespace {

TEST(StopRule, StopsAtANarrowIntervalOfEnoughRepetitions) {
  const StopRule rule;
  const auto enough = static_cast<std::size_t>(kFewestToConverge);
  EXPECT_FALSE(rule.decide(std::vector<double>(enough - 1, 1.0), 0.1).stop);
  const auto decision = rule.decide(std::vector<double>(enough, 1.0), 0.1);
  EXPECT_TRUE(decision.stop);
  EXPECT_TRUE(decision.converged);
}

TEST(StopRule, StopsAtItsCapsWithoutClaimingConvergence) {
  std::vector<double> wide;
  for (int i = 0; i < 40; ++i) wide.push_back(i % 2 == 0 ? 1.0 : 2.0);
  const StopRule rule;
  EXPECT_FALSE(rule.decide(wide, 1.0).stop);
  const auto capped = rule.decide(wide, 5.0);
  EXPECT_TRUE(capped.stop);
  EXPECT_FALSE(capped.converged);
}

TEST(StopRule, FixedCountIsExact) {
  StopRule rule;
  rule.fixed = 3;
  EXPECT_FALSE(rule.decide(std::vector<double>(2, 1.0), 99).stop);
  const auto decision = rule.decide(std::vector<double>(3, 1.0), 0);
  EXPECT_TRUE(decision.stop);
  EXPECT_FALSE(decision.converged) << "three samples have no interval";
}

TEST(StopRule, AFixedCountIsCappedWhereThatIsAskedFor) {
  const StopRule rule{.fixed = 3, .at_most_seconds = 0.5, .capped = true};
  EXPECT_FALSE(rule.decide(std::vector<double>(1, 1.0), 0.4).stop);
  EXPECT_TRUE(rule.decide(std::vector<double>(1, 1.0), 0.5).stop);
}

}  // namespace

}  // namespace scalebench
