// SPDX-License-Identifier: Apache-2.0
// For tests: what every transport must be able to do, whatever it is made of.
#pragma once

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "collectives/allreduce.hpp"
#include "collectives/allreduce_check.hpp"
#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {

/// One allreduce on windows or on plain buffers of the host, checked on this rank. Returns false
/// where the transport cannot do it.
inline bool expect_exact_allreduce(Communicator& ranks, const AllreduceAlgorithm& algorithm,
                                   std::size_t count, DType dtype, ReduceOp op, bool in_place,
                                   bool in_window) {
  SCOPED_TRACE(fmt::format("{} over {} p={} n={} {} {} in_place={} in_window={} rank {}",
                           algorithm.name, ranks.transport(), ranks.size(), count, name_of(dtype),
                           name_of(op), in_place, in_window, ranks.rank()));
  std::vector<Window> windows;
  std::vector<Buffer> buffers;
  const auto memory = [&] {
    if (in_window) return windows.emplace_back(ranks.window(count, dtype)).span;
    return buffers.emplace_back(count, dtype).span();
  };
  const Span in = memory();
  const Span out = in_place ? in : memory();
  poison(out);
  fill_inputs(in, ranks.rank(), ranks.size(), op);
  try {
    algorithm.run(ranks, in, out, op);
  } catch (const Unavailable&) {
    return false;
  }
  ranks.wait();
  EXPECT_EQ(count_wrong(out, ranks.size(), op), 0U);
  ranks.barrier();
  return true;
}

/// pending() is false before a message and after it, and becomes true once it is under way, from
/// each other rank on its own. All messages go to rank 0, the last rank's first.
inline void expect_pending_tells_of_messages(Communicator& ranks) {
  Buffer number(1, DType::int32);
  const Span value = number.span(), nothing = value.part(0, 0);
  if (ranks.rank() > 0) {
    ranks.exchange(nothing, 0, value, 0);  // leave to send
    value.as<std::int32_t>()[0] = 10 * ranks.rank();
    ranks.exchange(value, 0, nothing, 0);
  } else {
    for (int from = ranks.size() - 1; from > 0; --from) {
      for (int other = 1; other <= from; ++other) EXPECT_FALSE(ranks.pending(other));
      ranks.exchange(value, from, nothing, from);
      while (!ranks.pending(from)) std::this_thread::yield();
      EXPECT_TRUE(ranks.pending(from));
      ranks.exchange(nothing, from, value, from);
      EXPECT_EQ(value.as<std::int32_t>()[0], 10 * from);
      EXPECT_FALSE(ranks.pending(from));
    }
  }
  ranks.barrier();
}

/// Every algorithm of the table but `auto`, which is one of the others, and `native`.
inline std::vector<AllreduceAlgorithm> own_algorithms() {
  std::vector<AllreduceAlgorithm> own;
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    if (algorithm.name != "native" && algorithm.name != "auto") own.push_back(algorithm);
  }
  return own;
}

/// Every algorithm on a few counts around the sizes at which transports change their ways.
inline void expect_every_algorithm_exact(Communicator& ranks) {
  for (const AllreduceAlgorithm& algorithm : own_algorithms()) {
    for (const bool in_window : {true, false}) {
      for (const std::size_t count : {0, 1, 2047, 2049, 8193, 300'007}) {
        expect_exact_allreduce(ranks, algorithm, count, DType::float32, ReduceOp::sum, true,
                               in_window);
      }
      for (const DType dtype : kDTypes) {
        expect_exact_allreduce(ranks, algorithm, 4099, dtype, ReduceOp::avg, false, in_window);
      }
    }
  }
}

}  // namespace scalebench
