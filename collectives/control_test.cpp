// SPDX-License-Identifier: Apache-2.0
#include "collectives/control.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "collectives/transport/thread_ranks_test.hpp"
#include "collectives/transport/transport_test.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

TEST(Control, GathersNumbersAndTextsByRank) {
  for (const int ranks : {1, 2, 3, 5, 8, 13}) {
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

TEST(Control, GathersManyNumbersAndTextsOfManyLengths) {
  run_ranks(7, [](Communicator& host) {
    const auto text_of = [](int rank) {
      // None, shorter than a word, a word, and longer.
      constexpr std::array kLengths{0, 3, 4, 5, 0, 1000, 1};
      return std::string(static_cast<std::size_t>(kLengths.at(static_cast<std::size_t>(rank))),
                         static_cast<char>('a' + rank));
    };
    const double mine = host.rank();
    const std::vector<double> all = all_gather(host, std::array{mine, -mine, mine / 3});
    const std::vector<std::string> texts = all_gather(host, text_of(host.rank()));
    ASSERT_EQ(all.size(), 21U);
    ASSERT_EQ(texts.size(), 7U);
    for (int rank = 0; rank < 7; ++rank) {
      const double theirs = rank;
      EXPECT_EQ((std::vector(&all[3 * static_cast<std::size_t>(rank)],
                             &all[3 * static_cast<std::size_t>(rank)] + 3)),
                (std::vector{theirs, -theirs, theirs / 3}));
      EXPECT_EQ(texts[static_cast<std::size_t>(rank)], text_of(rank));
    }
    EXPECT_EQ(gather_texts(host, text_of(host.rank())),
              host.rank() == 0 ? texts : std::vector<std::string>());
    EXPECT_TRUE(all_gather(host, std::span<const double>()).empty());
    EXPECT_EQ(all_gather(host, std::string()), std::vector<std::string>(7));
  });
}

TEST(Control, BroadcastsFromAnyRoot) {
  for (const int ranks : {1, 2, 3, 6, 8, 13}) {
    run_ranks(ranks, [&](Communicator& host) {
      for (int root = 0; root < ranks; ++root) {
        const bool here = host.rank() == root;
        // Who looks before it asks must look at the right one.
        while (!here && !host.pending(teller_of(host, root))) std::this_thread::yield();
        std::string text = here ? "from the root" : "             ";
        broadcast_bytes(host, std::as_writable_bytes(std::span(text)), root);
        EXPECT_EQ(text, "from the root");
      }
    });
  }
}

TEST(Control, TakesAsManyMessagesAsTheRanksAreOftenDoubled) {
  run_ranks(13, [](Communicator& threads) {
    const auto messages = [&](const std::function<void(Communicator&)>& call) {
      CountingCommunicator host(threads);
      call(host);
      return host.steps();
    };
    EXPECT_EQ(messages([](Communicator& host) { all_gather(host, 1.0); }), 4U);
    EXPECT_EQ(messages([](Communicator& host) { all_gather(host, std::string("text")); }), 8U);
    double value = 1;
    EXPECT_LE(
        messages([&](Communicator& host) { broadcast(host, span_of(std::span(&value, 1)), 5); }),
        4U);
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
