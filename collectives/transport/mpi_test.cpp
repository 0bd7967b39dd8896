// SPDX-License-Identifier: Apache-2.0
// Runs under mpirun on 1 to 4 ranks: every algorithm over MPI sums exactly, ranks see the world
// that they were promised.
#include <gtest/gtest.h>

#include <string>

#include "collectives/allreduce.hpp"
#include "collectives/allreduce_check.hpp"
#include "collectives/control.hpp"
#include "collectives/transport/transport_test.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

bool reads_peers(const AllreduceAlgorithm& algorithm) {
  return algorithm.name == "one_shot" || algorithm.name == "direct";
}

TEST(MpiCommunicator, SumsExactlyWithEveryAlgorithm) {
  const auto communicator = make_mpi_communicator();
  const int p = communicator->size();
  const auto exact = [&](const AllreduceAlgorithm& algorithm, std::size_t count, DType dtype,
                         ReduceOp op, bool in_place) {
    const Buffer input(count, dtype), output(count, dtype);
    const Span out = in_place ? input.span() : output.span();
    fill_inputs(input.span(), communicator->rank(), p, op);
    try {
      algorithm.run(*communicator, input.span(), out, op);
    } catch (const Unavailable&) {
      // MPI itself knows no 16-bit floats, and nobody's memory can be addressed: refused on every
      // rank, before any message.
      EXPECT_TRUE(algorithm.name == "native" ? size_of(dtype) == 2
                                             : algorithm.name == "auto" || reads_peers(algorithm));
      return;
    }
    communicator->wait();
    EXPECT_EQ(count_wrong(out, p, op), 0U)
        << algorithm.name << " n=" << count << " " << name_of(dtype) << " " << name_of(op);
  };
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    for (const DType dtype : kDTypes) {
      for (const std::size_t count : {0, 1, p - 1, p, p + 1, 4099, 300007}) {
        exact(algorithm, count, dtype, ReduceOp::sum, true);
      }
      for (const ReduceOp op : kReduceOps) exact(algorithm, 4099, dtype, op, false);
    }
  }
}

TEST(MpiCommunicator, TellsWhoeverWatchesOfItsCalls) {
  expect_marks_tell_of_calls(*make_mpi_communicator());
}

TEST(MpiCommunicator, TellsOfMessages) {
  expect_pending_tells_of_messages(*make_mpi_communicator());
}

TEST(MpiCommunicator, RefusesAMessageThatIsShorterThanWhatWasWaitedFor) {
  const auto communicator = make_mpi_communicator();
  if (communicator->size() < 2) GTEST_SKIP() << "needs a second rank";
  const Buffer buffer(300007, DType::float64);
  const int rank = communicator->rank();
  for (const std::size_t count : {3U, 300007U}) {
    if (rank == 0) communicator->exchange(buffer.span().part(0, count - 1), 1, {}, 1);
    if (rank != 1) continue;
    try {
      communicator->exchange({}, 0, buffer.span().part(0, count), 0);
      ADD_FAILURE() << "taken for " << count << " numbers";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("rank 0 sent "), std::string::npos) << error.what();
    }
  }
}

TEST(MpiCommunicator, SharesOneNodeAndGathersTexts) {
  const auto communicator = make_mpi_communicator();
  EXPECT_EQ(communicator->topology().nodes(), 1);
  const auto texts = all_gather(*communicator, "rank " + std::to_string(communicator->rank()));
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    EXPECT_EQ(texts[rank], "rank " + std::to_string(rank));
  }
}

TEST(MpiCommunicator, TakesDeviceMemoryOrSaysWhyNot) {
  try {
    const auto communicator = make_mpi_communicator(Memory::device);
    EXPECT_EQ(communicator->memory(), Memory::device);
    EXPECT_EQ(communicator->transport(), "mpi");
    EXPECT_NE(communicator->stream().handle, nullptr);
  } catch (const Unavailable& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    const std::string reason = device_count() == 0 ? why_no_device() : "is not CUDA-aware";
    EXPECT_NE(text.find(reason), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace scalebench
