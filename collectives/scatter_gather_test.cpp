// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "collectives/steps.hpp"
#include "collectives/transport/thread_ranks_test.hpp"
#include "collectives/transport/transports.hpp"
#include "kernels/buffer.hpp"

namespace scalebench {
namespace {

/// Twice in a row, each time with other numbers: ranks that run ahead must not be seen.
void expect_sums(Communicator& ranks, std::vector<int> members, int index, int chunks, Span data,
                 bool direct) {
  ScatterGather group(ranks, members, index, chunks, data);
  EXPECT_EQ(group.direct(), direct);
  for (const float round : {1.F, 5.F}) {
    float sum = 0;
    for (const int member : members) sum += round * static_cast<float>(member + 1);
    const auto numbers = data.as<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = round * static_cast<float>(ranks.rank() + 1) + static_cast<float>(i);
    }
    group.reduce_scatter(data, ReduceOp::sum);
    group.all_gather(data);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(numbers[i], sum + static_cast<float>(members.size() * i)) << i;
    }
  }
}

TEST(ScatterGather, SumsInWindowsAndOutside) {
  for (const int ranks : {1, 2, 3}) {
    for (const std::size_t count : {1, 17, 1000}) {
      run_ranks(ranks, [&](Communicator& communicator) {
        std::vector<int> all(static_cast<std::size_t>(ranks));
        std::iota(all.begin(), all.end(), 0);
        const Window window = communicator.window(count, DType::float32);
        expect_sums(communicator, all, communicator.rank(), ranks, window.span, true);
        const Buffer outside(count, DType::float32);
        expect_sums(communicator, all, communicator.rank(), ranks, outside.span(), ranks == 1);
      });
    }
  }
}

TEST(ScatterGather, GroupsOfUnequalSizeGoTheSameWay) {
  // Two ranks share a node, the third is alone; one of the two owns nothing.
  for (const bool shared : {true, false}) {
    run_ranks(
        3,
        [&](Communicator& control) {
          const auto memory = make_shared_memory_communicator(control);
          const bool pair = control.rank() < 2;
          const std::vector<int> members = pair ? std::vector<int>{0, 1} : std::vector<int>{2};
          const Window window = memory->window(100, DType::float32);
          const Buffer outside(100, DType::float32);
          expect_sums(*memory, members, pair ? control.rank() : 0, 1,
                      shared ? window.span : outside.span(), shared);
        },
        SendMode::rendezvous, 2);
  }
}

}  // namespace

namespace {

TEST(StagedExchange, SendsToOneAndToAll) {
  run_ranks(3, [](Communicator& communicator) {
    StagedExchange exchange(communicator);
    Buffer numbers(5, DType::int32);
    const Span span = numbers.span();
    const int rank = communicator.rank();
    for (std::int32_t& value : span.as<std::int32_t>()) value = rank;
    if (rank == 0) exchange.send(span, 2);
    if (rank == 2) exchange.receive(span, 0);
    EXPECT_EQ(span.as<std::int32_t>()[4], rank == 1 ? 1 : 0);
    exchange.broadcast(span, 1);
    EXPECT_EQ(span.as<std::int32_t>()[0], 1);
    exchange.broadcast(span.part(0, 0), 2);
  });
}

TEST(StagedExchange, AgreesOnlyTogether) {
  for (const int ranks : {1, 2, 4}) {
    run_ranks(ranks, [&](Communicator& communicator) {
      StagedExchange exchange(communicator);
      EXPECT_TRUE(exchange.all_agree(true));
      EXPECT_FALSE(exchange.all_agree(false));
      for (int against = 0; against < ranks; ++against) {
        EXPECT_FALSE(exchange.all_agree(communicator.rank() != against));
      }
    });
  }
}

}  // namespace

}  // namespace scalebench
