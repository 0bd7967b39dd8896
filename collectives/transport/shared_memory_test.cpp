// SPDX-License-Identifier: Apache-2.0
// Runs under mpirun on 1, 2 and 4 ranks: real processes that map each other's memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "collectives/control.hpp"
#include "collectives/forwarding.hpp"
#include "collectives/transport/shared_segment.hpp"
#include "collectives/transport/transport_test.hpp"
#include "collectives/transport/transports.hpp"

namespace scalebench {
namespace {

/// MPI whose ranks take each two of them for a host.
class PretendedHosts final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  Topology topology() const override {
    Topology topology;
    for (int rank = 0; rank < size(); ++rank) topology.node_of_rank.push_back(rank / 2);
    return topology;
  }
  void exchange_meanwhile(ConstSpan out, int to, Span in, int from,
                          const std::function<bool()>& meanwhile) override {
    inner_.exchange_meanwhile(out, to, in, from, meanwhile);
  }
};

TEST(SharedMemoryCommunicator, EveryAlgorithmIsExact) {
  const auto mpi = make_mpi_communicator();
  const auto shared = make_shared_memory_communicator(*mpi);
  expect_every_algorithm_exact(*shared);
}

TEST(SharedMemoryCommunicator, CombinesWhatArrives) {
  const auto mpi = make_mpi_communicator();
  expect_exchange_reduce_combines(*mpi);
  expect_exchange_reduce_combines(*make_shared_memory_communicator(*mpi));
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

TEST(SharedMemoryCommunicator, ShortMessagesAreNeitherOvertakenNorTorn) {
  const auto mpi = make_mpi_communicator();
  const auto shared = make_shared_memory_communicator(*mpi);
  const auto ranks = static_cast<std::size_t>(shared->size());
  constexpr std::size_t kMost = 256;  // elements: 1 KiB
  std::vector<std::int32_t> mine(kMost), all(kMost * ranks);
  for (std::size_t round = 0; round < 20'000; ++round) {
    const std::size_t count = 1 + round * 37 % kMost;  // a note, some, all
    for (std::size_t i = 0; i < count; ++i) {
      mine[i] = static_cast<std::int32_t>(round * 1000 + i) * (shared->rank() + 1);
    }
    const Span into = span_of(std::span(all)).part(0, count * ranks);
    ASSERT_TRUE(shared->gather_short(span_of(std::span(mine)).part(0, count), into));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(all[rank * count + i],
                  static_cast<std::int32_t>(round * 1000 + i) * static_cast<std::int32_t>(rank + 1))
            << round;
      }
    }
  }
}

TEST(SharedMemoryCommunicator, LongerMessagesAndThoseOfSeveralHostsAreNotShort) {
  const auto mpi = make_mpi_communicator();
  const auto shared = make_shared_memory_communicator(*mpi);
  std::vector<std::int32_t> mine(257), all(257 * static_cast<std::size_t>(mpi->size()));
  EXPECT_FALSE(shared->gather_short(span_of(std::span(mine)), span_of(std::span(all))));
  if (mpi->size() < 3) return;
  PretendedHosts hosts(*mpi);
  const auto across = make_shared_memory_communicator(hosts);
  EXPECT_FALSE(across->gather_short(span_of(std::span(mine)).part(0, 1),
                                    span_of(std::span(all)).part(0, 4)));
}

TEST(SharedMemoryCommunicator, TellsWhoeverWatchesOfItsCalls) {
  const auto mpi = make_mpi_communicator();
  expect_marks_tell_of_calls(*make_shared_memory_communicator(*mpi));
}

TEST(SharedMemoryCommunicator, TellsOfMessages) {
  const auto mpi = make_mpi_communicator();
  const auto shared = make_shared_memory_communicator(*mpi);
  expect_pending_tells_of_messages(*shared);
}

TEST(SharedMemoryCommunicator, WithinAHostNothingWaitsForWhatCrossesHosts) {
  const auto mpi = make_mpi_communicator();
  if (mpi->size() < 3) GTEST_SKIP() << "needs 3 ranks";
  PretendedHosts hosts(*mpi);
  const auto shared = make_shared_memory_communicator(hosts);
  expect_every_algorithm_exact(*shared);
  expect_progress_within_and_across(hosts, *shared);
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
