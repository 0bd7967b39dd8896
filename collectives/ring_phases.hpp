// SPDX-License-Identifier: Apache-2.0
// The two halves of every ring: reduce-scatter, after which each member owns the result of one
// chunk, and allgather, after which each has all. (m-1) steps each for m members; every member
// sends and receives n(m-1)/m elements in each half. Patarasuk & Yuan 2009.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "collectives/communicator.hpp"

namespace scalebench {

/// The place of one rank in a ring of `size` members, who pass chunks from left to right.
struct Ring {
  int index;
  int size;
  int left;  // ranks
  int right;
  /// Into how many chunks the buffer is cut; member i owns chunk i, the others own nothing.
  int chunks;
  /// Messages are at most this many elements.
  std::size_t segment = std::numeric_limits<std::size_t>::max();
};

/// All ranks in order.
Ring ring_of_all(const Communicator& communicator);
/// The members' ranks in ring order, the caller among them at `index`.
Ring ring_of(std::span<const int> members, int index, int chunks);

/// Collective among the members. Afterwards the caller's chunk of `out` is reduced over all of
/// them; the rest of `out` is undefined. `in` and `out` are equal or apart.
void ring_reduce_scatter(Communicator& communicator, const Ring& ring, ConstSpan in, Span out,
                         ReduceOp op);
/// Collective among the members: spreads every member's own chunk of `out` to all.
void ring_allgather(Communicator& communicator, const Ring& ring, Span out);

}  // namespace scalebench
