// SPDX-License-Identifier: Apache-2.0
// Threads as ranks: the count is what was asked, every rank holds the same result, and a rank that
// is slow in the operation is the one that is named. No bound on any time.
#include "bench/measure/repetition.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
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

TEST(TimeCollective, RepeatsExactlyAsOftenAsAskedAndAgreesOnAllRanks) {
  for (const StartMode mode : {StartMode::clock, StartMode::barrier}) {
    run_ranks(3, [&](Communicator& host) {
      int prepared = 0;
      int operated = 0;
      const Timing timing = time_collective(
          host, [&] { ++prepared; }, [&] { ++operated; }, WarmUpRule{.fixed = 2}, exactly(25),
          mode);
      EXPECT_EQ(timing.repetitions.size(), 25U);
      EXPECT_EQ(prepared, operated);
      EXPECT_GE(operated, 1 + 2 + 1 + 25);
      for (const Repetition& repetition : timing.repetitions) {
        EXPECT_GE(repetition.seconds, 0);
        EXPECT_GE(repetition.skew_seconds, 0);
        const auto all = all_gather(host, repetition.seconds);
        EXPECT_EQ(all[0], all[1]);
        EXPECT_EQ(all[0], all[2]);
      }
    });
  }
}

TEST(TimeCollective, NamesTheSlowRank) {
  run_ranks(3, [](Communicator& host) {
    const auto operation = [&] {
      if (host.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    const Timing timing = time_collective(
        host, [] {}, operation, WarmUpRule{.fixed = 0}, exactly(5), StartMode::barrier);
    for (const Repetition& repetition : timing.repetitions) {
      EXPECT_EQ(repetition.slowest_rank, 1);
      EXPECT_GE(repetition.seconds, 0.02) << "a sleep lasts at least as long as it was told";
    }
  });
}

TEST(TimeCollective, StopsByItselfAndSaysWhetherItConverged) {
  run_ranks(2, [](Communicator& host) {
    StopRule rule;
    rule.at_most = 60;
    const Timing timing = time_collective(
        host, [] {}, [&] { host.barrier(); }, WarmUpRule{.at_least_seconds = 0}, rule,
        StartMode::barrier);
    EXPECT_GE(timing.repetitions.size(), 30U);
    EXPECT_LE(timing.repetitions.size(), 60U);
    if (!timing.converged) {
      EXPECT_EQ(timing.repetitions.size(), 60U);
    }
  });
}

}  // namespace
}  // namespace scalebench
