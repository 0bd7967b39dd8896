// SPDX-License-Identifier: Apache-2.0
#include "collectives/together.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "collectives/thread_communicator.hpp"

namespace scalebench {
namespace {

std::string message_when(int ranks, const std::function<std::string(int)>& problem_of) {
  std::string message;
  run_ranks(ranks, [&](Communicator& control) {
    try {
      throw_together<Unavailable>(control, "transport x", problem_of(control.rank()));
    } catch (const Unavailable& error) {
      if (control.rank() == 0) message = error.what();
      return;
    }
    EXPECT_EQ(problem_of(0), "") << "rank " << control.rank() << " heard nothing";
  });
  return message;
}

TEST(Together, AllRanksThrowTheSame) {
  EXPECT_EQ(message_when(3, [](int) { return ""; }), "");
  EXPECT_EQ(message_when(3, [](int) { return "no device"; }), "transport x: no device");
  EXPECT_EQ(message_when(3, [](int rank) { return rank == 2 ? "no device" : ""; }),
            "transport x: rank 2: no device");
}

/// Counts in its destructor, and says what had been dropped by then.
std::shared_ptr<void> counted(std::atomic<int>& dropped) {
  return {&dropped, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }};
}

TEST(Together, MemoryGoesOnceAllHaveDroppedTheirMappings) {
  constexpr int kRanks = 4;
  std::atomic<int> mappings = 0, memories = 0, settled = 0;
  run_ranks(kRanks, [&](Communicator& control) {
    ReleaseTogether releases(control, [&] { ++settled; });
    std::shared_ptr<void> own(&memories, [&](void*) {
      EXPECT_EQ(settled, kRanks);
      EXPECT_EQ(mappings, kRanks);
      ++memories;
    });
    releases.release(counted(mappings), std::move(own));
  });
  EXPECT_EQ(memories, kRanks);
}

TEST(Together, WhatAnExceptionLeftBehindGoesAtTheNextMeeting) {
  std::atomic<int> mappings = 0, memories = 0;
  run_ranks(3, [&](Communicator& control) {
    ReleaseTogether releases(control, [] {});
    try {
      const std::shared_ptr<void> window(
          &releases, [&](void*) { releases.release(counted(mappings), counted(memories)); });
      throw Unavailable("not here");
    } catch (const Unavailable&) {
      EXPECT_LT(memories, 3) << "somebody did not wait";
    }
    control.barrier();
    EXPECT_EQ(memories, 0);
    control.barrier();
    releases.collect();
    control.barrier();
    EXPECT_EQ(mappings, 3);
    EXPECT_EQ(memories, 3);
  });
}

TEST(Together, AFailedRankHoldsUpNoRelease) {
  std::atomic<int> ended = 0;
  const auto one_fails = [&](Communicator& control) {
    if (control.rank() == 1) throw Error("rank 1 failed");
    ReleaseTogether releases(control, [] {});
    releases.release(nullptr, nullptr);  // the barrier throws, the release must not
    ++ended;
  };
  EXPECT_THROW(run_ranks(3, one_fails), Error);
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace scalebench
