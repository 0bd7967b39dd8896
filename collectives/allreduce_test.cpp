// SPDX-License-Identifier: Apache-2.0
// Every algorithm, as threads: exact sums over ranks x sizes x dtypes in both send modes, and the
// traffic counted against the cost that allreduce.def claims.
#include "collectives/allreduce.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>
#include <tuple>

#include "collectives/allreduce_check.hpp"
#include "collectives/counting_communicator.hpp"
#include "collectives/thread_communicator.hpp"
#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

std::set<std::size_t> sizes_for(int ranks) {
  const auto p = static_cast<std::size_t>(ranks);
  return {0, 1, p - 1, p, p + 1, 7, 101, 1009};
}

/// The table without `native`, which threads do not have.
std::vector<AllreduceAlgorithm> our_algorithms() {
  std::vector<AllreduceAlgorithm> ours;
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    if (algorithm.name != "native") ours.push_back(algorithm);
  }
  return ours;
}

void expect_exact(const AllreduceAlgorithm& algorithm, int ranks, std::size_t count, DType dtype,
                  SendMode mode) {
  std::mutex mutex;
  run_ranks(
      ranks,
      [&](Communicator& communicator) {
        const Buffer buffer(count, dtype);
        fill_inputs(buffer.span(), communicator.rank());
        algorithm.run(communicator, buffer.span());
        communicator.wait();
        const std::lock_guard lock(mutex);
        EXPECT_EQ(count_wrong(buffer.span(), ranks), 0U)
            << algorithm.name << " p=" << ranks << " n=" << count << " " << name_of(dtype)
            << " rank " << communicator.rank();
      },
      mode);
}

TEST(Allreduce, SumsExactlyForEveryRankCountSizeAndDtype) {
  for (const AllreduceAlgorithm& algorithm : our_algorithms()) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      for (const std::size_t count : sizes_for(ranks)) {
        for (const DType dtype : kDTypes) {
          expect_exact(algorithm, ranks, count, dtype, SendMode::rendezvous);
          expect_exact(algorithm, ranks, count, dtype, SendMode::buffered);
        }
      }
    }
  }
}

TEST(Allreduce, SumsAMebiElementExactly) {
  for (const AllreduceAlgorithm& algorithm : our_algorithms()) {
    for (const DType dtype : kDTypes) {
      expect_exact(algorithm, 3, std::size_t{1} << 20U, dtype, SendMode::rendezvous);
    }
  }
}

TEST(Allreduce, CostsWhatItsLineClaims) {
  for (const AllreduceAlgorithm& algorithm : our_algorithms()) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      const std::size_t count = 840;  // divisible by 1..8
      std::mutex mutex;
      std::size_t steps = 0;
      std::size_t sent = 0;
      run_ranks(ranks, [&](Communicator& communicator) {
        CountingCommunicator counting(communicator);
        const Buffer buffer(count, DType::float32);
        algorithm.run(counting, buffer.span());
        const std::lock_guard lock(mutex);
        steps = std::max(steps, counting.exchanges());
        sent = std::max(sent, counting.elements_sent());
      });
      const double p = ranks;
      const auto n = static_cast<double>(count);
      EXPECT_DOUBLE_EQ(static_cast<double>(steps), algorithm.steps(p, n))
          << algorithm.name << " p=" << ranks;
      EXPECT_DOUBLE_EQ(static_cast<double>(sent), algorithm.elements_sent(p, n))
          << algorithm.name << " p=" << ranks;
    }
  }
}

TEST(Allreduce, NativeSaysThatThreadsHaveNone) {
  const AllreduceAlgorithm& native = allreduce_named("native");
  EXPECT_TRUE(std::isnan(native.elements_sent(2, 8)));
  EXPECT_THROW(run_ranks(1,
                         [&](Communicator& communicator) {
                           const Buffer buffer(1, DType::float32);
                           native.run(communicator, buffer.span());
                         }),
               Unavailable);
}

TEST(Allreduce, UnknownNameListsTheValidOnes) {
  try {
    allreduce_named("rnig");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "unknown algorithm 'rnig'; valid: naive, ring, native (did you mean 'ring'?)");
  }
}

// A check that cannot fail is none: each corruption that a wrong algorithm could cause is seen.
TEST(AllreduceCheck, SeesMissingDoubledAndMovedContributions) {
  for (const DType dtype : kDTypes) {
    const int ranks = 4;
    const Buffer sum(1000, dtype), twice(1000, dtype);
    run_ranks(1, [&](Communicator& one) {
      for (int rank = 0; rank < ranks; ++rank) {
        const Buffer input(1000, dtype);
        fill_inputs(input.span(), rank);
        one.add(sum.span(), input.span());
        one.add(twice.span(), input.span());
        if (rank == 2) {
          EXPECT_GT(count_wrong(sum.span(), ranks), 800U) << "rank 3 is missing";
        }
        if (rank == 1) one.add(twice.span(), input.span());
      }
    });
    EXPECT_EQ(count_wrong(sum.span(), ranks), 0U);
    EXPECT_GT(count_wrong(twice.span(), ranks), 800U) << "rank 1 counted twice";
    EXPECT_GT(count_wrong(sum.span().part(1, 999), ranks), 800U) << "shifted by one";
    poison(sum.span());
    EXPECT_EQ(count_wrong(sum.span(), ranks), 1000U) << "never written";
  }
}

}  // namespace
}  // namespace scalebench
