// SPDX-License-Identifier: Apache-2.0
// For tests: what every transport must be able to do, whatever it is made of.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "collectives/allreduce.hpp"
#include "collectives/allreduce_check.hpp"
#include "collectives/forwarding.hpp"
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

/// Every call that may wait for other ranks is told, and is over when it returns.
inline void expect_marks_tell_of_calls(Communicator& ranks) {
  CallMarks marks;
  CallMarks* const before = ranks.marks();
  ranks.set_marks(&marks);
  Buffer numbers(2, DType::int32);
  const Span out = numbers.span().part(0, 1), in = numbers.span().part(1, 1);
  const int p = ranks.size(), next = (ranks.rank() + 1) % p, last = (ranks.rank() + p - 1) % p;
  std::uint64_t moves = 0;
  const auto expect_told = [&](std::string_view what) {
    const CallMarks::Count count = marks.read();
    EXPECT_GT(count.moves, moves) << what;
    EXPECT_FALSE(count.inside()) << what;
    moves = count.moves;
  };
  ranks.barrier();
  expect_told("barrier");
  for (std::int32_t& value : numbers.span().as<std::int32_t>()) value = 1;
  if (p > 1) {
    ranks.exchange(out, next, in, last);
    expect_told("exchange");
    EXPECT_EQ(marks.read().bytes, sizeof(std::int32_t));
    ranks.exchange_reduce(out, next, in, in, last, ReduceOp::sum);
    expect_told("exchange_reduce");
  }
  ranks.set_marks(before);
  ranks.barrier();
  EXPECT_EQ(marks.read().moves, moves);
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

/// Within a node messages do not wait for what crosses nodes. Rank 1 has a long message under way
/// with rank 0, of its node, and one with rank 2, elsewhere, which does its part only once rank 0
/// has said over `control`, the transport between nodes, that its own is done. Three ranks or more.
inline void expect_progress_within_and_across(Communicator& control, Communicator& ranks) {
  constexpr std::size_t kCount = 300'007;
  constexpr std::chrono::seconds kMost(120);
  for (const bool in_window : {false, true}) {
    for (const bool sends_across : {false, true}) {
      SCOPED_TRACE(fmt::format("in_window={} sends_across={}", in_window, sends_across));
      const Window window = ranks.window(2 * kCount, DType::int32);
      const Buffer plain(2 * kCount, DType::int32), number(1, DType::int32);
      const Span all = in_window ? window.span : plain.span();
      const Span out = all.part(0, kCount), in = all.part(kCount, kCount);
      const Span word = number.span(), nothing = all.part(0, 0);
      for (std::int32_t& value : out.as<std::int32_t>()) value = 1 + ranks.rank();
      const auto expect_from = [&](int rank) {
        const auto got = in.as<std::int32_t>();
        EXPECT_EQ(std::ranges::count(got, 1 + rank), std::ssize(got)) << "rank " << ranks.rank();
      };
      if (ranks.rank() == 0) {
        ranks.exchange(sends_across ? out : nothing, 1, sends_across ? nothing : in, 1);
        if (!sends_across) expect_from(1);
        control.exchange(word, 2, word.part(0, 0), 2);
      } else if (ranks.rank() == 1) {
        ranks.exchange(out, sends_across ? 2 : 0, in, sends_across ? 0 : 2);
        expect_from(sends_across ? 0 : 2);
      } else if (ranks.rank() == 2) {
        const auto end = std::chrono::steady_clock::now() + kMost;
        while (!control.pending(0) && std::chrono::steady_clock::now() < end) {
          std::this_thread::yield();
        }
        EXPECT_TRUE(control.pending(0)) << "the message from rank " << (sends_across ? 0 : 1)
                                        << " to its neighbour waits for what crosses nodes";
        ranks.exchange(sends_across ? nothing : out, 1, sends_across ? in : nothing, 1);
        control.exchange(word.part(0, 0), 0, word, 0);
        if (sends_across) expect_from(1);
      }
      ranks.barrier();
    }
  }
}

/// Around a ring of 2 or more ranks, in and outside of windows, into what is combined and into
/// memory of its own: the thousands are this rank's, the rest is the left one's.
inline void expect_exchange_reduce_combines(Communicator& ranks) {
  if (ranks.size() == 1) return;
  const int p = ranks.size(), left = (ranks.rank() + p - 1) % p, right = (ranks.rank() + 1) % p;
  for (const bool in_window : {true, false}) {
    for (const std::size_t count : {1, 2049, 300'007}) {
      const Window window = ranks.window(3 * count, DType::int32);
      const Buffer plain(3 * count, DType::int32);
      const Span all = in_window ? window.span : plain.span();
      const Span out = all.part(0, count), own = all.part(count, count);
      for (const Span into : {own, all.part(2 * count, count)}) {
        for (std::size_t i = 0; i < count; ++i) {
          out.as<std::int32_t>()[i] = ranks.rank() + static_cast<int>(i % 7);
          own.as<std::int32_t>()[i] = 1000 * static_cast<int>(i % 11);
        }
        ranks.exchange_reduce(out, right, own, into, left, ReduceOp::sum);
        ranks.wait();
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(into.as<std::int32_t>()[i],
                    1000 * static_cast<int>(i % 11) + left + static_cast<int>(i % 7))
              << "element " << i << " of " << count;
        }
      }
      ranks.barrier();
    }
  }
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

// A communicator that counts what passes through it: the traffic and the work that an algorithm
// really causes, to be held against what its line in allreduce.def claims.

class CountingCommunicator final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  void exchange(ConstSpan out, int to, Span in, int from) override {
    ++steps_;
    elements_sent_ += out.count;
    inner_.exchange(out, to, in, from);
  }
  void combine(std::span<const ConstSpan> from, std::span<const Span> to, ReduceOp op) override {
    elements_reduced_ += (from.size() - 1) * from.front().count;
    for (const ConstSpan source : from) count_if_of_peer(source);
    for (const Span destination : to) count_if_of_peer(destination);
    inner_.combine(from, to, op);
  }
  void copy(ConstSpan from, Span to) override {
    count_if_of_peer(from);
    count_if_of_peer(to);
    inner_.copy(from, to);
  }
  std::optional<Span> peer(Span mine, int rank) override {
    const std::optional<Span> found = inner_.peer(mine, rank);
    if (found && rank != this->rank()) of_peers_.push_back(*found);
    return found;
  }
  bool gather_short(ConstSpan in, Span all) override {
    if (!inner_.gather_short(in, all)) return false;
    ++steps_;
    elements_sent_ += all.count - in.count;
    return true;
  }
  void barrier() override {
    ++steps_;
    inner_.barrier();
  }

  /// Exchanges and barriers.
  std::size_t steps() const { return steps_; }
  /// Sent in exchanges, or read from and written to peers' memory directly.
  std::size_t elements_sent() const { return elements_sent_; }
  /// Applications of the reduction's operator.
  std::size_t elements_reduced() const { return elements_reduced_; }

 private:
  void count_if_of_peer(ConstSpan span) {
    for (const Span& remote : of_peers_) {
      if (span.data >= remote.data && span.data < remote.data + remote.bytes()) {
        elements_sent_ += span.count;
        return;
      }
    }
  }

  std::vector<Span> of_peers_;
  std::size_t steps_ = 0;
  std::size_t elements_sent_ = 0;
  std::size_t elements_reduced_ = 0;
};

}  // namespace scalebench
