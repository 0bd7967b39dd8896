// SPDX-License-Identifier: Apache-2.0
#include "collectives/steps.hpp"

#include <algorithm>
#include <array>
#include <bit>

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

namespace {

/// Of a node: 0 for leaves.
int height_of(int position) { return std::countr_zero(static_cast<unsigned>(position)); }

}  // namespace

TwoTrees::TwoTrees(int ranks)
    : ranks_(ranks), colours_(2 * static_cast<std::size_t>(ranks), kUncoloured) {
  for (int rank = 0; rank < ranks; ++rank) {
    for (const int tree : {0, 1}) {
      if (parent(tree, rank) == kNone || colours_[edge(tree, rank)] != kUncoloured) continue;
      colours_[edge(tree, rank)] = 0;
      colour_from(tree, rank, true);
      colour_from(tree, rank, false);
    }
  }
}

std::vector<TreeLink> TwoTrees::up(int rank) const {
  std::vector<TreeLink> links;
  for (const int tree : {0, 1}) {
    const int above = parent(tree, rank);
    if (above == kNone) continue;
    const bool leaf = child(tree, rank, true) == kNone;
    links.push_back({tree, above, first_slot(tree, rank), leaf});
  }
  return links;
}

std::vector<TreeLink> TwoTrees::down(int rank) const {
  std::vector<TreeLink> links;
  for (const int tree : {0, 1}) {
    for (const bool left : {true, false}) {
      const int below = child(tree, rank, left);
      if (below != kNone) links.push_back({tree, below, first_slot(tree, below), false});
    }
  }
  std::ranges::sort(links, {}, &TreeLink::first_slot);
  if (!links.empty()) links.front().untouched = true;
  return links;
}

std::size_t TwoTrees::slots(std::size_t segments) const {
  return 2 * (std::bit_width(static_cast<unsigned>(ranks_)) + segments);
}

// The second tree is the first one mirrored or, for an odd number of ranks, shifted by one: either
// makes leaves of the inner nodes.
int TwoTrees::position(int tree, int rank) const {
  if (tree == 0) return rank + 1;
  return ranks_ % 2 == 0 ? ranks_ - rank : (rank + 1) % ranks_ + 1;
}

int TwoTrees::rank_at(int tree, int position) const {
  if (tree == 0) return position - 1;
  return ranks_ % 2 == 0 ? ranks_ - position : (position - 2 + ranks_) % ranks_;
}

// The lowest bit of a position is 2^height, and the children are half of that away. Positions
// beyond the last rank are left out, and what is below them hangs from what is above.
int TwoTrees::parent(int tree, int rank) const {
  int at = position(tree, rank);
  if (at == static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks_)))) return kNone;
  do {
    const int bit = 1 << height_of(at);
    at = (at - bit) | (2 * bit);
  } while (at > ranks_);
  return rank_at(tree, at);
}

int TwoTrees::child(int tree, int rank, bool left) const {
  const int at = position(tree, rank);
  int half = (1 << height_of(at)) / 2;
  if (left) return half > 0 ? rank_at(tree, at - half) : kNone;
  while (half > 0 && at + half > ranks_) half /= 2;
  return half > 0 ? rank_at(tree, at + half) : kNone;
}

int TwoTrees::sibling(int tree, int rank) const {
  const int above = parent(tree, rank);
  const int left = child(tree, above, true);
  return left == rank ? child(tree, above, false) : left;
}

std::size_t TwoTrees::edge(int tree, int rank) {
  return 2 * static_cast<std::size_t>(rank) + static_cast<std::size_t>(tree);
}

std::size_t TwoTrees::first_slot(int tree, int rank) const {
  return static_cast<std::size_t>(2 * height_of(position(tree, rank)) + colours_[edge(tree, rank)]);
}

/// Edges that must differ in colour share their sender (one in each tree) or their receiver (two
/// siblings). Each edge has at most one such neighbour of either kind, so that the neighbours form
/// paths and rings in which the kinds alternate: two colours suffice, alternating along each.
void TwoTrees::colour_from(int tree, int rank, bool next_in_other_tree) {
  int next = colours_[edge(tree, rank)];
  while (true) {
    if (next_in_other_tree) {
      tree = 1 - tree;
    } else {
      rank = sibling(tree, rank);
    }
    if (rank == kNone || parent(tree, rank) == kNone) return;
    if (colours_[edge(tree, rank)] != kUncoloured) return;
    next = 1 - next;
    colours_[edge(tree, rank)] = next;
    next_in_other_tree = !next_in_other_tree;
  }
}

}  // namespace scalebench
