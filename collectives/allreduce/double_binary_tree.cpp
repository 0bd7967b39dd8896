// SPDX-License-Identifier: Apache-2.0
// Double binary tree: each half of the buffer is reduced up one of two trees and spread down again.
// Every rank is an inner node of at most one, so that all send and receive alike. Phases: segments
// rise by the timetable of TwoTrees, then fall by the same one read backwards. Cost: at most
// 4s + O(lg p) steps for s segments in n/2 elements; 2n sent, n combined. Wins with many ranks: a
// ring's bandwidth, nearly, in lg p instead of p steps. Sanders, Speck & Traeff 2009; NCCL.
#include <algorithm>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/steps.hpp"

namespace scalebench::allreduce {
namespace {

/// What passes one of a rank's links in some slot.
struct Turn {
  Range range;  // empty: nothing does
  int peer = 0;
  bool untouched = false;
};

Turn turn_in(std::size_t slot, const std::vector<TreeLink>& links, ConstSpan data) {
  for (const TreeLink& link : links) {
    if (slot < link.first_slot || (slot - link.first_slot) % 2 != 0) continue;
    const Range half = range_of_chunks(data, link.tree, 1, 2);
    const Range segment = segment_of(half, (slot - link.first_slot) / 2);
    if (segment.count > 0) return {segment, link.peer, link.untouched};
  }
  return {};
}

template <class AnySpan>
AnySpan part_of(AnySpan data, const Turn& turn) {
  return data.part(turn.range.first, turn.range.count);
}

}  // namespace

void double_binary_tree(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  if (communicator.size() == 1) return communicator.copy(in, out);
  const TwoTrees trees(communicator.size());
  const std::vector<TreeLink> up = trees.up(communicator.rank());
  const std::vector<TreeLink> down = trees.down(communicator.rank());
  const std::size_t half = chunk_of(out, 0, 2).count;
  const std::size_t slots = trees.slots(segments_of(half));
  const Span scratch = communicator.scratch(std::min(half, kSegmentElements), out.dtype);
  // Where this rank's numbers are before a turn.
  const auto current = [&](const Turn& turn) {
    return part_of(turn.untouched ? in : ConstSpan(out), turn);
  };

  for (std::size_t slot = 0; slot < slots; ++slot) {
    const Turn rising = turn_in(slot, up, out);
    const Turn arriving = turn_in(slot, down, out);
    if (rising.range.count + arriving.range.count == 0) continue;
    const Span received = scratch.part(0, arriving.range.count);
    communicator.exchange(current(rising), rising.peer, received, arriving.peer);
    communicator.reduce(current(arriving), received, part_of(out, arriving), op);
  }
  for (std::size_t slot = slots; slot-- > 0;) {
    const Turn falling = turn_in(slot, down, out);
    const Turn arriving = turn_in(slot, up, out);
    if (falling.range.count + arriving.range.count == 0) continue;
    communicator.exchange(part_of(out, falling), falling.peer, part_of(out, arriving),
                          arriving.peer);
  }
}

}  // namespace scalebench::allreduce
