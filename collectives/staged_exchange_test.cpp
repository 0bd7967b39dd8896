// SPDX-License-Identifier: Apache-2.0
#include "collectives/staged_exchange.hpp"

#include <gtest/gtest.h>

#include "collectives/thread_communicator.hpp"

namespace scalebench {
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
