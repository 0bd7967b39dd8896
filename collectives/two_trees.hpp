// SPDX-License-Identifier: Apache-2.0
// Two binary trees over the same ranks, each rank an inner node of at most one, and a timetable by
// which segments rise through both at once: in every slot a rank sends at most one and receives at
// most one, and both sides of a message are in the same slot. Slot by slot no rank can wait in a
// circle, even if sends wait for their receivers. Sanders, Speck & Traeff 2009.
#pragma once

#include <cstddef>
#include <vector>

namespace scalebench {

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

}  // namespace scalebench
