// SPDX-License-Identifier: Apache-2.0
// Runs under mpirun on 1, 2 and 4 ranks: real processes that map each other's memory.
#include <gtest/gtest.h>

#include <filesystem>

#include "collectives/control.hpp"
#include "collectives/mpi_session.hpp"
#include "collectives/transport/shared_segment.hpp"
#include "collectives/transport/transport_test.hpp"
#include "collectives/transport/transports.hpp"

namespace scalebench {
namespace {

TEST(SharedMemoryCommunicator, EveryAlgorithmIsExact) {
  const auto mpi = make_mpi_communicator();
  const auto shared = make_shared_memory_communicator(*mpi);
  expect_every_algorithm_exact(*shared);
}

TEST(SharedMemoryCommunicator, ReadersOfSharedScratchAreNeverOvertaken) {
  const auto mpi = make_mpi_communicator();
  const auto shared = make_shared_memory_communicator(*mpi);
  for (int round = 0; round < 20'000; ++round) {
    const Span mine = shared->shared_scratch(16, DType::int32);
    for (std::int32_t& value : mine.as<std::int32_t>()) value = round * 100 + shared->rank();
    shared->barrier();
    for (int rank = 0; rank < shared->size(); ++rank) {
      for (const std::int32_t value : shared->peer(mine, rank)->as<std::int32_t>()) {
        ASSERT_EQ(value, round * 100 + rank);
      }
    }
  }
}

TEST(SharedMemoryCommunicator, TellsOfMessages) {
  const auto mpi = make_mpi_communicator();
  const auto shared = make_shared_memory_communicator(*mpi);
  expect_pending_tells_of_messages(*shared);
}

TEST(SharedMemoryCommunicator, LeavesNoDescriptorOpen) {
  const auto count = [] {
    const std::filesystem::directory_iterator open("/proc/self/fd");
    return std::distance(begin(open), end(open));
  };
  const auto mpi = make_mpi_communicator();
  const auto before = count();
  const auto shared = make_shared_memory_communicator(*mpi);
  const Window window = shared->window(1000, DType::float32);
  EXPECT_EQ(count(), before);
}

TEST(SharedMemoryCommunicator, AllRanksHearThatThereIsNotEnough) {
  const auto mpi = make_mpi_communicator();
  const auto shared = make_shared_memory_communicator(*mpi);
  EXPECT_THROW(shared->window(std::size_t{1} << 50U, DType::float64), Unavailable);
  expect_exact_allreduce(*shared, allreduce_named("ring"), 1000, DType::float32, ReduceOp::sum,
                         true, true);
}

TEST(SharedMemoryCommunicator, SaysWhenMessagesDoNotFit) {
  const auto mpi = make_mpi_communicator();
  const auto shared = make_shared_memory_communicator(*mpi);
  const Buffer sent(20, DType::float32), expected(10, DType::float32);
  // Around the ring: with one rank to itself.
  const int right = (shared->rank() + 1) % shared->size();
  const int left = (shared->rank() + shared->size() - 1) % shared->size();
  EXPECT_THROW(shared->exchange(sent.span(), right, expected.span(), left), Error);
}

}  // namespace
}  // namespace scalebench

int main(int argc, char** argv) {
  scalebench::MpiSession session(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  scalebench::require_promised_ranks(session);
  return RUN_ALL_TESTS();
}
