// SPDX-License-Identifier: Apache-2.0
// Runs under mpirun on 1 to 4 ranks: every algorithm over MPI sums exactly, ranks see the world
// that they were promised.
#include "collectives/mpi_communicator.hpp"

#include <gtest/gtest.h>

#include "collectives/allreduce.hpp"
#include "collectives/allreduce_check.hpp"
#include "collectives/control.hpp"
#include "collectives/mpi_session.hpp"
#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

TEST(MpiCommunicator, SumsExactlyWithEveryAlgorithm) {
  const auto communicator = make_mpi_communicator();
  const int p = communicator->size();
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    for (const DType dtype : kDTypes) {
      for (const std::size_t count : {0, 1, p - 1, p, p + 1, 4099, 300007}) {
        const Buffer buffer(count, dtype);
        fill_inputs(buffer.span(), communicator->rank());
        try {
          algorithm.run(*communicator, buffer.span());
        } catch (const Unavailable&) {
          // MPI itself knows no 16-bit floats: refused on every rank, before any message.
          EXPECT_EQ(algorithm.name, "native");
          EXPECT_EQ(size_of(dtype), 2U);
          continue;
        }
        communicator->wait();
        EXPECT_EQ(count_wrong(buffer.span(), p), 0U)
            << algorithm.name << " n=" << count << " " << name_of(dtype);
      }
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

}  // namespace
}  // namespace scalebench

int main(int argc, char** argv) {
  scalebench::MpiSession session(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  scalebench::require_promised_ranks(session);
  return RUN_ALL_TESTS();
}
