// SPDX-License-Identifier: Apache-2.0
// For tests on a device: what every transport of device memory must be able to do. Inputs are made
// and results are checked on the host.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "collectives/allreduce.hpp"
#include "collectives/allreduce_check.hpp"
#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {

/// The same memory seen as `count` numbers of `dtype`.
inline Span as_numbers(Span memory, std::size_t count, DType dtype) {
  return {memory.data, count, dtype, memory.memory};
}

/// One allreduce from `in` to `out`, checked on this rank. Returns false where the transport cannot
/// do it.
inline bool expect_exact_on_device(Communicator& ranks, const AllreduceAlgorithm& algorithm,
                                   Span in, Span out, ReduceOp op) {
  SCOPED_TRACE(fmt::format("{} over {} p={} n={} {} {} in_place={} rank {}", algorithm.name,
                           ranks.transport(), ranks.size(), in.count, name_of(in.dtype),
                           name_of(op), in.data == out.data, ranks.rank()));
  const Buffer host(in.count, in.dtype);
  poison(host.span());
  copy(host.span(), out);
  fill_inputs(host.span(), ranks.rank(), ranks.size(), op);
  copy(host.span(), in);
  try {
    algorithm.run(ranks, in, out, op);
  } catch (const Unavailable&) {
    return false;
  }
  ranks.wait();
  copy(out, host.span());
  EXPECT_EQ(count_wrong(host.span(), ranks.size(), op), 0U);
  ranks.barrier();
  return true;
}

/// Every dtype and op, in and out of place, in windows and outside, on counts around the cuts that
/// algorithms make.
inline void expect_exact_on_device(Communicator& ranks, const AllreduceAlgorithm& algorithm,
                                   bool expect_possible = true) {
  constexpr std::size_t kMost = 4099;
  const Window input = ranks.window(kMost, DType::float64);
  const Window output = ranks.window(kMost, DType::float64);
  const Buffer plain(kMost, DType::float64, Memory::device);
  for (const DType dtype : kDTypes) {
    for (const ReduceOp op : kReduceOps) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{1009}, kMost}) {
        const Span in = as_numbers(input.span, count, dtype);
        const Span out = as_numbers(output.span, count, dtype);
        const Span outside = as_numbers(plain.span(), count, dtype);
        EXPECT_EQ(expect_exact_on_device(ranks, algorithm, in, in, op), expect_possible);
        EXPECT_EQ(expect_exact_on_device(ranks, algorithm, in, out, op), expect_possible);
        EXPECT_EQ(expect_exact_on_device(ranks, algorithm, outside, outside, op), expect_possible);
      }
    }
  }
  if (expect_possible) {
    algorithm.run(ranks, input.span.part(0, 0), output.span.part(0, 0), ReduceOp::sum);
    ranks.barrier();
  }
}

/// Long messages, in and outside of windows: several pieces where a transport stages them.
inline void expect_long_messages_exact(Communicator& ranks) {
  constexpr std::size_t kCount = 5'000'003;
  const Window window = ranks.window(kCount, DType::float32);
  const Buffer plain(kCount, DType::float32, Memory::device);
  for (const std::string_view name : {"naive", "ring"}) {
    for (const Span span : {window.span, plain.span()}) {
      EXPECT_TRUE(expect_exact_on_device(ranks, allreduce_named(name), span, span, ReduceOp::sum));
    }
  }
}

/// Operations that follow each other without a host that waits, in and outside of windows: what
/// one still reads the next does not overwrite.
inline void expect_exact_one_behind_the_other(Communicator& ranks) {
  constexpr std::size_t kCount = 1'500'001, kOperations = 8;
  const Window window = ranks.window(kOperations * kCount, DType::float32);
  const Buffer plain(kOperations * kCount, DType::float32, Memory::device);
  const Buffer host(kCount, DType::float32);
  for (const Span all : {window.span, plain.span()}) {
    for (const std::string_view name : {"ring", "recursive_doubling", "naive"}) {
      fill_inputs(host.span(), ranks.rank(), ranks.size(), ReduceOp::sum);
      for (std::size_t i = 0; i < kOperations; ++i) copy(host.span(), all.part(i * kCount, kCount));
      for (std::size_t i = 0; i < kOperations; ++i) {
        const Span one = all.part(i * kCount, kCount);
        allreduce_named(name).run(ranks, one, one, ReduceOp::sum);
      }
      ranks.wait();
      for (std::size_t i = 0; i < kOperations; ++i) {
        copy(all.part(i * kCount, kCount), host.span());
        EXPECT_EQ(count_wrong(host.span(), ranks.size(), ReduceOp::sum), 0U) << name;
      }
      ranks.barrier();
    }
  }
}

/// Each rank reads what every other has put in its part of the same scratch.
inline void expect_scratch_is_never_overtaken(Communicator& ranks) {
  constexpr std::size_t kCount = 1000;
  const Buffer host(kCount, DType::int32), read(kCount, DType::int32, Memory::device);
  for (int round = 0; round < 200; ++round) {
    const Span mine = ranks.shared_scratch(kCount, DType::int32);
    for (std::int32_t& value : host.span().as<std::int32_t>()) value = round * 100 + ranks.rank();
    copy(host.span(), mine);
    ranks.barrier();
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const std::optional<Span> theirs = ranks.peer(mine, rank);
      ASSERT_TRUE(theirs.has_value());
      ranks.copy(*theirs, read.span());
      ranks.wait();
      copy(read.span(), host.span());
      for (const std::int32_t value : host.span().as<std::int32_t>()) {
        ASSERT_EQ(value, round * 100 + rank);
      }
    }
  }
}

/// An algorithm that the transport lacks is refused on all ranks; what was made for it is given
/// back, and the transport goes on.
inline void expect_windows_to_survive_a_refusal(Communicator& ranks) {
  for (int round = 0; round < 3; ++round) {
    const auto refused = [&] {
      const Window window = ranks.window(1000, DType::float32);
      throw Unavailable("as an algorithm would");
    };
    EXPECT_THROW(refused(), Unavailable);
  }
  const Window window = ranks.window(1000, DType::float32);
  expect_exact_on_device(ranks, allreduce_named("ring"), window.span, window.span, ReduceOp::sum);
}

}  // namespace scalebench
