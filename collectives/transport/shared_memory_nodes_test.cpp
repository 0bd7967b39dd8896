// SPDX-License-Identifier: Apache-2.0
// Shared memory within pretended nodes, threads between them: what crosses nodes and what does not
// mix in one exchange.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "collectives/transport/thread_ranks_test.hpp"
#include "collectives/transport/transport_test.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/testing.hpp"

namespace scalebench {
namespace {

TEST(SharedMemoryNodes, EveryAlgorithmIsExactWithinAndAcrossNodes) {
  for (const int ranks : {2, 3, 4, 5}) {
    for (const int ranks_per_node : {1, 2, 3, 5}) {
      run_ranks(
          ranks,
          [](Communicator& control) {
            const auto shared = make_shared_memory_communicator(control);
            expect_every_algorithm_exact(*shared);
          },
          SendMode::rendezvous, ranks_per_node);
    }
  }
}

TEST(SharedMemoryNodes, CombineWhatArrivesWithinAndAcross) {
  for (const int ranks_per_node : {1, 2, 3}) {
    run_ranks(
        5,
        [](Communicator& control) {
          expect_exchange_reduce_combines(control);
          expect_exchange_reduce_combines(*make_shared_memory_communicator(control));
        },
        SendMode::rendezvous, ranks_per_node);
  }
}

TEST(SharedMemoryNodes, TellOfMessagesWithinAndAcross) {
  for (const int ranks_per_node : {1, 2, 3}) {
    for (const SendMode mode : {SendMode::rendezvous, SendMode::buffered}) {
      run_ranks(
          3,
          [](Communicator& control) {
            expect_pending_tells_of_messages(control);
            expect_pending_tells_of_messages(*make_shared_memory_communicator(control));
          },
          mode, ranks_per_node);
    }
  }
}

TEST(SharedMemoryNodes, WithinANodeNothingWaitsForWhatCrossesNodes) {
  for (const SendMode mode : {SendMode::rendezvous, SendMode::buffered}) {
    run_ranks(
        3,
        [](Communicator& control) {
          expect_progress_within_and_across(control, *make_shared_memory_communicator(control));
        },
        mode, 2);
  }
}

TEST(SharedMemoryNodes, WorkGoesOnWhileAMessageCrosses) {
  std::atomic<int> done = 0;
  run_ranks(
      2,
      [&](Communicator& control) {
        const auto shared = make_shared_memory_communicator(control);
        double value = shared->rank();
        const Span mine = span_of(std::span(&value, 1)), nothing = mine.part(0, 0);
        if (shared->rank() == 0) {
          shared->exchange_meanwhile(nothing, 1, mine, 1, [&] { return ++done < 3; });
          EXPECT_EQ(value, 1);
        } else {
          const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
          while (done < 3 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
          shared->exchange(mine, 0, nothing, 0);
        }
        shared->barrier();
      },
      SendMode::rendezvous, 1);
  EXPECT_EQ(done, 3);
}

TEST(SharedMemoryNodes, SayWhatDoesNotFitWithinWhileAMessageAcrossIsUnderWay) {
  const auto ranks_of_two_nodes = [] {
    run_ranks(
        3,
        [](Communicator& control) {
          const auto shared = make_shared_memory_communicator(control);
          const Buffer buffer(40, DType::float32);
          const Span all = buffer.span(), nothing = all.part(0, 0);
          if (shared->rank() == 0) shared->exchange(all.part(0, 20), 1, nothing, 1);
          // Rank 2 never takes it.
          if (shared->rank() == 1) shared->exchange(all.part(0, 10), 2, all.part(10, 10), 0);
          shared->barrier();
        },
        SendMode::rendezvous, 2);
  };
  EXPECT_THAT(message_of<Error>(ranks_of_two_nodes),
              testing::HasSubstr("rank 0 sent 80 bytes to rank 1, which expected 40"));
}

TEST(SharedMemoryNodes, PeersAreThoseOfTheNode) {
  run_ranks(
      4,
      [](Communicator& control) {
        const auto shared = make_shared_memory_communicator(control);
        const Window window = shared->window(100, DType::float64);
        window.span.as<double>()[7] = shared->rank();
        shared->barrier();
        for (int rank = 0; rank < 4; ++rank) {
          const auto peer = shared->peer(window.span.part(7, 1), rank);
          ASSERT_EQ(peer.has_value(), rank / 2 == shared->rank() / 2);
          if (peer) {
            EXPECT_EQ(peer->as<double>()[0], rank);
          }
        }
        const Buffer elsewhere(10, DType::float64);
        EXPECT_FALSE(shared->peer(elsewhere.span(), shared->rank() ^ 1).has_value());
        shared->barrier();
      },
      SendMode::rendezvous, 2);
}

}  // namespace
}  // namespace scalebench
