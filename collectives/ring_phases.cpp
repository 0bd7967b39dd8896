// SPDX-License-Identifier: Apache-2.0
#include "collectives/ring_phases.hpp"

#include <algorithm>
#include <array>

#include "collectives/chunk.hpp"

namespace scalebench {
namespace {

/// The chunk owned by the member `steps` to the left of this one.
template <class AnySpan>
AnySpan chunk_left(const Ring& ring, AnySpan data, int steps) {
  const int owner = (ring.index - steps % ring.size + ring.size) % ring.size;
  return owner < ring.chunks ? chunk_of(data, owner, ring.chunks) : data.part(data.count, 0);
}

/// Elements of the longest chunk: all members take as many turns as it needs, in each step.
std::size_t longest_chunk(const Ring& ring, ConstSpan data) {
  return chunk_of(data, 0, ring.chunks).count;
}

/// At most `length` elements from `first` on; fewer or none at the end.
template <class AnySpan>
AnySpan clipped(AnySpan data, std::size_t first, std::size_t length) {
  const std::size_t start = std::min(first, data.count);
  return data.part(start, std::min(length, data.count - start));
}

}  // namespace

Ring ring_of_all(const Communicator& communicator) {
  const int p = communicator.size(), rank = communicator.rank();
  return {
      .index = rank, .size = p, .left = (rank + p - 1) % p, .right = (rank + 1) % p, .chunks = p};
}

Ring ring_of(std::span<const int> members, int index, int chunks) {
  const std::size_t m = members.size(), i = static_cast<std::size_t>(index);
  return {.index = index,
          .size = static_cast<int>(m),
          .left = members[(i + m - 1) % m],
          .right = members[(i + 1) % m],
          .chunks = chunks};
}

void ring_reduce_scatter(Communicator& communicator, const Ring& ring, ConstSpan in, Span out,
                         ReduceOp op) {
  if (ring.size == 1) return communicator.copy(in, out);
  const std::size_t longest = longest_chunk(ring, out);
  const std::size_t segment = std::min(ring.segment, longest);
  const Span scratch = communicator.scratch(segment, out.dtype);
  for (int step = 1; step < ring.size; ++step) {
    const ConstSpan sent = chunk_left(ring, step == 1 ? in : ConstSpan(out), step);
    const ConstSpan own = chunk_left(ring, in, step + 1);
    const Span combined = chunk_left(ring, out, step + 1);
    for (std::size_t first = 0; first < longest; first += segment) {
      const Span into = clipped(combined, first, segment);
      const Span received = scratch.part(0, into.count);
      communicator.exchange(clipped(sent, first, segment), ring.right, received, ring.left);
      const std::array<ConstSpan, 2> both{clipped(own, first, segment), received};
      communicator.combine(both, std::span(&into, 1), op);
    }
  }
}

void ring_allgather(Communicator& communicator, const Ring& ring, Span out) {
  const std::size_t longest = longest_chunk(ring, out);
  const std::size_t segment = std::min(ring.segment, longest);
  for (int step = 0; step < ring.size - 1; ++step) {
    const Span sent = chunk_left(ring, out, step);
    const Span received = chunk_left(ring, out, step + 1);
    for (std::size_t first = 0; first < longest; first += segment) {
      communicator.exchange(clipped(sent, first, segment), ring.right,
                            clipped(received, first, segment), ring.left);
    }
  }
}

}  // namespace scalebench
