// SPDX-License-Identifier: Apache-2.0
#include "collectives/control.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "collectives/transport/thread.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

TEST(Control, GathersNumbersAndTextsByRank) {
  for (const int ranks : {1, 2, 3, 5}) {
    run_ranks(ranks, [&](Communicator& host) {
      const auto numbers = all_gather(host, host.rank() * 1.5);
      const auto texts = all_gather(host, std::string(static_cast<std::size_t>(host.rank()), 'x'));
      ASSERT_EQ(numbers.size(), static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(numbers[static_cast<std::size_t>(rank)], rank * 1.5);
        EXPECT_EQ(texts[static_cast<std::size_t>(rank)].size(), static_cast<std::size_t>(rank));
      }
    });
  }
}

TEST(Control, BroadcastsFromAnyRoot) {
  run_ranks(3, [](Communicator& host) {
    for (int root = 0; root < 3; ++root) {
      std::string text = host.rank() == root ? "from the root" : "             ";
      broadcast_bytes(host, std::as_writable_bytes(std::span(text)), root);
      EXPECT_EQ(text, "from the root");
    }
  });
}

TEST(Control, RanksAgreeOnlyTogether) {
  run_ranks(3, [](Communicator& host) {
    EXPECT_TRUE(all_agree(host, true));
    EXPECT_FALSE(all_agree(host, host.rank() != 1));
    EXPECT_TRUE(any_agrees(host, host.rank() == 2));
    EXPECT_FALSE(any_agrees(host, false));
  });
}

TEST(ThreadCommunicator, WakesTheOthersWhenARankFails) {
  for (const SendMode mode : {SendMode::buffered, SendMode::rendezvous}) {
    try {
      run_ranks(
          3,
          [](Communicator& host) {
            if (host.rank() == 1) fail("rank 1 broke");
            host.barrier();
          },
          mode);
      FAIL() << "no failure seen";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "rank 1 broke");
    }
  }
}

TEST(ThreadCommunicator, RefusesMessagesOfAnotherSize) {
  EXPECT_THROW(run_ranks(2,
                         [](Communicator& host) {
                           std::vector<double> mine(host.rank() == 0 ? 2 : 3);
                           const Span data = span_of(std::span(mine));
                           const Span nothing = data.part(0, 0);
                           if (host.rank() == 0) host.exchange(data, 1, nothing, 1);
                           if (host.rank() == 1) host.exchange(nothing, 0, data, 0);
                         }),
               Error);
}

}  // namespace

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
