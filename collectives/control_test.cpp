// SPDX-License-Identifier: Apache-2.0
#include "collectives/control.hpp"

#include <gtest/gtest.h>

#include "collectives/thread_communicator.hpp"
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
}  // namespace scalebench
