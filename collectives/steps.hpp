// SPDX-License-Identifier: Apache-2.0
// What algorithms and gradient syncs are made of.
// A buffer is cut among ranks into runs of whole cache lines, as equal as that allows, so that
// no two ranks ever write the same line. The last chunks of a short buffer may be empty.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/communicator.hpp"
#include "kernels/buffer.hpp"
#include "kernels/error.hpp"

namespace scalebench {

/// Elements [first, first + count) of a buffer.
struct Range {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Where the `length` chunks from `index` on lie together, of `chunks` in all.
inline Range range_of_chunks(ConstSpan data, int index, int length, int chunks) {
  constexpr std::size_t kLineBytes = 64;
  const std::size_t line = kLineBytes / size_of(data.dtype);
  const std::size_t lines = (data.count + line - 1) / line;
  const auto p = static_cast<std::size_t>(chunks);
  const auto first_of = [&](int chunk) {
    const auto i = static_cast<std::size_t>(chunk);
    return std::min((i * (lines / p) + std::min(i, lines % p)) * line, data.count);
  };
  return {first_of(index), first_of(index + length) - first_of(index)};
}

/// Chunks [index, index + length) of `chunks` of a Span or ConstSpan, as one.
template <class AnySpan>
AnySpan chunks_of(AnySpan data, int index, int length, int chunks) {
  const Range range = range_of_chunks(data, index, length, chunks);
  return data.part(range.first, range.count);
}

/// Chunk `index` of `chunks`; 0 <= index < chunks. Chunk 0 is the longest.
template <class AnySpan>
AnySpan chunk_of(AnySpan data, int index, int chunks) {
  return chunks_of(data, index, 1, chunks);
}

// Folding p ranks into the largest power of two <= p, for algorithms that pair ranks by bits: of
// the first 2(p - 2^k) ranks each odd one takes over the numbers of its even neighbour, and hands
// it the result at the end. 2 steps and n elements more for p != 2^k. As in MPICH.

class Fold {
 public:
  explicit Fold(Communicator& communicator)
      : communicator_(communicator),
        rank_(communicator.rank()),
        ranks_(static_cast<int>(std::bit_floor(static_cast<unsigned>(communicator.size())))),
        extra_(communicator.size() - ranks_) {}

  /// How many ranks take part: a power of two.
  int ranks() const { return ranks_; }
  /// Whether this rank does not, because its neighbour does it for both.
  bool away() const { return paired() && rank_ % 2 == 0; }
  /// The number of this rank among those that take part, and the rank that has such a number.
  int index() const { return paired() ? rank_ / 2 : rank_ - extra_; }
  int rank_of(int index) const { return index < extra_ ? 2 * index + 1 : index + extra_; }

  /// Returns where the numbers that this rank takes part with are: still in `in`, or in `out`.
  ConstSpan fold_in(ConstSpan in, Span out, ReduceOp op) {
    if (!paired()) return in;
    if (away()) {
      communicator_.exchange(in, rank_ + 1, out.part(0, 0), rank_ + 1);
      return in;
    }
    const Span received = communicator_.scratch(out.count, out.dtype);
    communicator_.exchange(in.part(0, 0), rank_ - 1, received, rank_ - 1);
    communicator_.reduce(received, in, out, op);
    return out;
  }

  /// Gives the result to those that were away.
  void fold_out(Span out) {
    if (!paired()) return;
    const Span nothing = out.part(0, 0);
    if (away()) return communicator_.exchange(nothing, rank_ + 1, out, rank_ + 1);
    communicator_.exchange(out, rank_ - 1, nothing, rank_ - 1);
  }

 private:
  bool paired() const { return rank_ < 2 * extra_; }

  Communicator& communicator_;
  const int rank_;
  const int ranks_;
  const int extra_;
};

// The memory of all ranks at once, for the algorithms that read and write it directly. Nothing is
// allocated for up to kPeersOnStack ranks: these algorithms exist for their latency.

inline constexpr std::size_t kPeersOnStack = 64;

/// The same part of the same window of every rank, by rank, or copies of it; AnySpan is Span, or
/// ConstSpan to read.
template <class AnySpan>
class PeerSpans {
 public:
  /// False, with undefined content: some rank is out of reach, or `mine` is in no window.
  bool find(Communicator& communicator, Span mine) {
    clear(static_cast<std::size_t>(communicator.size()));
    for (int rank = 0; rank < communicator.size(); ++rank) {
      if (!add(communicator.peer(mine, rank))) return false;
    }
    return true;
  }
  /// Of these ranks only.
  bool find(Communicator& communicator, Span mine, std::span<const int> ranks) {
    clear(ranks.size());
    return std::ranges::all_of(ranks, [&](int rank) { return add(communicator.peer(mine, rank)); });
  }

  /// `all` in parts of `count` elements.
  void cut(Span all, std::size_t count) {
    clear(all.count / count);
    for (std::size_t at = 0; at < all.count; at += count) spans_.push_back(all.part(at, count));
  }

  /// Only this part of every span.
  void keep(Range range) {
    for (AnySpan& span : spans_) span = span.part(range.first, range.count);
  }

  std::span<const AnySpan> all() const { return spans_; }

 private:
  void clear(std::size_t room) {
    spans_.clear();
    spans_.reserve(room);
  }
  bool add(const std::optional<Span>& found) {
    if (found) spans_.push_back(*found);
    return found.has_value();
  }

  alignas(AnySpan) std::array<std::byte, kPeersOnStack * sizeof(AnySpan)> stack_;
  std::pmr::monotonic_buffer_resource memory_{stack_.data(), stack_.size()};
  std::pmr::vector<AnySpan> spans_{&memory_};
};

[[noreturn]] inline void fail_out_of_reach(const Communicator& communicator,
                                           std::string_view algorithm) {
  fail<Unavailable>(
      "algorithm {} needs ranks that address each other's memory; transport {} cannot", algorithm,
      communicator.transport());
}

// The two halves of every ring: reduce-scatter, after which each member owns the result of one
// chunk, and allgather, after which each has all. (m-1) steps each for m members; every member
// sends and receives n(m-1)/m elements in each half. Patarasuk & Yuan 2009.

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

// How long messages are cut for pipelines: a segment is what one rank combines while another is
// under way. 128 KiB of float stay in a core's second-level cache, and Open MPI's tcp is at its
// best up to there. Counted in elements, so that the cost is the same for all dtypes.

inline constexpr std::size_t kSegmentElements = std::size_t{32} * 1024;

constexpr std::size_t segments_of(std::size_t count) {
  return (count + kSegmentElements - 1) / kSegmentElements;
}

/// Messages as which so many elements go where the first of two is combined while the second comes.
constexpr std::size_t halves_of(std::size_t count) { return count < 8 * kSegmentElements ? 1 : 2; }

/// Segment `index` of a range; empty past its end.
constexpr Range segment_of(Range range, std::size_t index) {
  const std::size_t first = std::min(index * kSegmentElements, range.count);
  return {range.first + first, std::min(kSegmentElements, range.count - first)};
}

// Two binary trees over the same ranks, each rank an inner node of at most one, and a timetable by
// which segments rise through both at once: in every slot a rank sends at most one and receives at
// most one, and both sides of a message are in the same slot. Slot by slot no rank can wait in a
// circle, even if sends wait for their receivers. Sanders, Speck & Traeff 2009.

/// The edge between this rank and `peer`, its parent or child in `tree` (0 or 1). Segment k rises
/// along it in slot first_slot + 2k; read backwards, the timetable is one for falling segments.
struct TreeLink {
  int tree;
  int peer;
  std::size_t first_slot;
  /// Nothing of this tree's half has been combined in this rank before: in a leaf, or by the first
  /// of two children.
  bool untouched;
};

class TwoTrees {
 public:
  /// O(ranks); ranks >= 1.
  explicit TwoTrees(int ranks);

  /// To the parents of `rank`: one in each tree whose root it is not.
  std::vector<TreeLink> up(int rank) const;
  /// To the children of `rank`: at most two, in the order of their slots.
  std::vector<TreeLink> down(int rank) const;
  /// Slots until all of `segments` have risen to both roots.
  std::size_t slots(std::size_t segments) const;

 private:
  static constexpr int kNone = -1;
  static constexpr int kUncoloured = -1;

  // In-order positions 1..ranks: odd ones are leaves.
  int position(int tree, int rank) const;
  int rank_at(int tree, int position) const;

  int parent(int tree, int rank) const;
  /// `left` or right child.
  int child(int tree, int rank, bool left) const;
  int sibling(int tree, int rank) const;

  /// Of the edge from `rank` to its parent, in colours_: the parity of its slots.
  static std::size_t edge(int tree, int rank);
  std::size_t first_slot(int tree, int rank) const;
  void colour_from(int tree, int rank, bool next_in_other_tree);

  int ranks_;
  std::vector<int> colours_;
};

// One rank's place among nodes that may be of different sizes: who shares its node, and who has the
// same index in each node.

struct NodePlace {
  explicit NodePlace(const Communicator& communicator);

  std::vector<std::vector<int>> nodes;  // ranks
  std::size_t node = 0;
  int index = 0;
  /// Every chunk needs an owner in every node: in larger nodes the last ranks own nothing.
  int owners = 1;
  std::vector<int> peers;  // by node; of an owner
};

// Reduce-scatter and all-gather of one buffer among a group of ranks, each of which owns one chunk
// of it. Where all groups address each other's windows, an owner reads its chunk from all members
// and writes it to all: n(m-1)/m elements each way for m members, one barrier a half. Otherwise
// the two halves of a ring. As in NCCL's ReduceScatter and AllGather, which ZeRO builds on.

/// 0 .. size-1: the members of a group of all.
std::vector<int> all_ranks(const Communicator& communicator);

class ScatterGather {
 public:
  /// Collective over all ranks, who are in one group each. `members`: ranks of this one's group,
  /// itself at `index`. Member i owns chunk i of `chunks`, members beyond own
  /// nothing. `example`: a window of the kind that will be passed.
  ScatterGather(Communicator& communicator, std::vector<int> members, int index, int chunks,
                Span example);

  /// Collective over all ranks: this rank's chunk is reduced over the group; of the rest nothing is
  /// promised. Nobody may write to its buffer before an all_gather() or a barrier has ended.
  void reduce_scatter(Span data, ReduceOp op);
  /// Collective over all ranks: every member's chunk goes to the whole group, which has read what
  /// was there before.
  void all_gather(Span data);

  /// The caller's own chunk.
  Span own(Span data) const;
  /// Whether memory of others is read and written directly.
  bool direct() const { return direct_; }

 private:
  Communicator& communicator_;
  std::vector<int> members_;
  Ring ring_;
  bool direct_;
  std::vector<ConstSpan> sources_;
};

// Messages between memory of any kind over a transport of any kind: what the transport cannot reach
// is copied through memory that it can. Blocking: data is there, or may be overwritten, on return.
// For parameters, activations, optimizer state and single numbers; nothing is combined on the way.

class StagedExchange {
 public:
  explicit StagedExchange(Communicator& communicator) : communicator_(communicator) {}

  /// As Communicator::exchange(). Data on a device must not be in the making on a stream that the
  /// device does not finish when it is asked to.
  void exchange(ConstSpan out, int to, Span in, int from);
  void send(ConstSpan out, int to);
  void receive(Span in, int from);

  /// Collective: rank `root`'s data replaces everybody's; root sends it p-1 times.
  void broadcast(Span data, int root);
  /// Collective: true on every rank if it is true on all. No rank leaves before all have entered.
  bool all_agree(bool mine);

  Communicator& communicator() const { return communicator_; }

 private:
  /// `like` itself where the transport reaches it, else as much of `staging`.
  Span reachable(Span like, Buffer& staging) const;

  Communicator& communicator_;
  Buffer out_;
  Buffer in_;
};

}  // namespace scalebench
