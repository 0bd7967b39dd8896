// SPDX-License-Identifier: Apache-2.0
#include "collectives/steps.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>
#include <utility>

#include "kernels/device.hpp"

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

/// Of a node: 0 for leaves.
int height_of(int position) { return std::countr_zero(static_cast<unsigned>(position)); }

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
  for (int step = 1; step < ring.size; ++step) {
    const ConstSpan sent = chunk_left(ring, step == 1 ? in : ConstSpan(out), step);
    const ConstSpan own = chunk_left(ring, in, step + 1);
    const Span combined = chunk_left(ring, out, step + 1);
    for (std::size_t first = 0; first < longest; first += segment) {
      communicator.exchange_reduce(clipped(sent, first, segment), ring.right,
                                   clipped(own, first, segment), clipped(combined, first, segment),
                                   ring.left, op);
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
  const int slot = 2 * height_of(position(tree, rank)) + colours_[edge(tree, rank)];
  return static_cast<std::size_t>(slot);
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

NodePlace::NodePlace(const Communicator& communicator) {
  const Topology topology = communicator.topology();
  nodes.resize(static_cast<std::size_t>(topology.nodes()));
  for (int rank = 0; const int name : topology.node_of_rank) {
    nodes[static_cast<std::size_t>(name)].push_back(rank++);
  }
  const int rank = communicator.rank();
  node = static_cast<std::size_t>(topology.node_of_rank[static_cast<std::size_t>(rank)]);
  index = static_cast<int>(std::ranges::find(nodes[node], rank) - nodes[node].begin());
  owners = static_cast<int>(std::ranges::min_element(nodes, {}, &std::vector<int>::size)->size());
  if (index >= owners) return;
  for (const auto& ranks : nodes) peers.push_back(ranks[static_cast<std::size_t>(index)]);
}

std::vector<int> all_ranks(const Communicator& communicator) {
  std::vector<int> ranks(static_cast<std::size_t>(communicator.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

ScatterGather::ScatterGather(Communicator& communicator, std::vector<int> members, int index,
                             int chunks, Span example)
    : communicator_(communicator),
      members_(std::move(members)),
      ring_(ring_of(members_, index, chunks)) {
  const bool reached = std::ranges::all_of(
      members_, [&](int rank) { return communicator_.peer(example, rank).has_value(); });
  // The direct way has barriers of all ranks, so a group of one must not decide by itself.
  direct_ = StagedExchange(communicator_).all_agree(reached);
}

Span ScatterGather::own(Span data) const {
  return ring_.index < ring_.chunks ? chunk_of(data, ring_.index, ring_.chunks)
                                    : data.part(data.count, 0);
}

void ScatterGather::reduce_scatter(Span data, ReduceOp op) {
  if (!direct_) return ring_reduce_scatter(communicator_, ring_, data, data, op);
  communicator_.barrier();
  const Span mine = own(data);
  if (mine.empty()) return;
  sources_.clear();
  for (const int rank : members_) sources_.push_back(*communicator_.peer(mine, rank));
  communicator_.combine(sources_, std::span(&mine, 1), op);
}

void ScatterGather::all_gather(Span data) {
  if (!direct_) return ring_allgather(communicator_, ring_, data);
  const Span mine = own(data);
  if (!mine.empty()) {
    for (const int rank : members_) {
      if (rank != communicator_.rank()) {
        communicator_.copy(mine, *communicator_.peer(mine, rank));
      }
    }
  }
  communicator_.barrier();
}

Span StagedExchange::reachable(Span like, Buffer& staging) const {
  const Memory memory = communicator_.memory();
  if (like.empty()) return {nullptr, 0, like.dtype, memory};
  if (like.memory == memory) return like;
  const std::size_t doubles = (like.bytes() + sizeof(double) - 1) / sizeof(double);
  if (doubles > staging.span().count) staging = Buffer(doubles, DType::float64, memory);
  return {staging.span().data, like.count, like.dtype, memory};
}

void StagedExchange::exchange(ConstSpan out, int to, Span in, int from) {
  // The communicator's stream knows nothing of the one on which `out` was made and `in` last read.
  if ((!out.empty() && out.memory == Memory::device) ||
      (!in.empty() && in.memory == Memory::device)) {
    device_synchronize();
  }
  const Span readable{const_cast<std::byte*>(out.data), out.count, out.dtype, out.memory};
  const Span sent = reachable(readable, out_), received = reachable(in, in_);
  if (sent.data != out.data) copy(out, sent);
  communicator_.exchange(sent, to, received, from);
  communicator_.wait();
  if (received.data != in.data) copy(received, in);
}

void StagedExchange::send(ConstSpan out, int to) {
  if (!out.empty()) exchange(out, to, Span{}, to);
}

void StagedExchange::receive(Span in, int from) {
  if (!in.empty()) exchange(ConstSpan{}, from, in, from);
}

void StagedExchange::broadcast(Span data, int root) {
  if (communicator_.rank() != root) return receive(data, root);
  for (int to = 0; to < communicator_.size(); ++to) {
    if (to != root) send(data, to);
  }
}

bool StagedExchange::all_agree(bool mine) {
  double agreed = mine ? 1 : 0;
  const Span word = span_of(std::span(&agreed, 1));
  if (communicator_.rank() == 0) {
    for (int from = 1; from < communicator_.size(); ++from) {
      double theirs = 0;
      receive(span_of(std::span(&theirs, 1)), from);
      if (theirs == 0) agreed = 0;
    }
  } else {
    send(word, 0);
  }
  broadcast(word, 0);
  return agreed != 0;
}

}  // namespace scalebench
