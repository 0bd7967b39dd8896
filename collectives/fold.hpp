// SPDX-License-Identifier: Apache-2.0
// Folding p ranks into the largest power of two <= p, for algorithms that pair ranks by bits: of
// the first 2(p - 2^k) ranks each odd one takes over the numbers of its even neighbour, and hands
// it the result at the end. 2 steps and n elements more for p != 2^k. As in MPICH.
#pragma once

#include <bit>

#include "collectives/communicator.hpp"

namespace scalebench {

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
    const ConstSpan both[]{received, in};
    communicator_.combine(both, std::span(&out, 1), op);
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

}  // namespace scalebench
