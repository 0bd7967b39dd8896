// SPDX-License-Identifier: Apache-2.0
// Recursive doubling: in step k every rank exchanges its whole buffer with the one that differs in
// bit k of the rank, and combines; after lg p steps all have the result.
// Cost: lg p steps, n lg p elements sent and combined; p != 2^k: floor(lg p) + 2 steps, one n more.
// Wins for small messages, where only the number of steps counts. Thakur et al. 2005, MPICH.
#include <utility>

#include "collectives/communicator.hpp"
#include "collectives/steps.hpp"

namespace scalebench::allreduce {

void recursive_doubling(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  if (communicator.size() == 1) return communicator.copy(in, out);
  Fold fold(communicator);
  ConstSpan mine = fold.fold_in(in, out, op);
  if (!fold.away()) {
    const Span received = communicator.scratch(out.count, out.dtype);
    for (int distance = 1; distance < fold.ranks(); distance *= 2) {
      const int partner = fold.rank_of(fold.index() ^ distance);
      communicator.exchange(mine, partner, received, partner);
      // In rank order on both sides, so that both get the same bits even of min(-0, +0) and NaN.
      ConstSpan lower = mine, upper = received;
      if (partner < communicator.rank()) std::swap(lower, upper);
      communicator.reduce(lower, upper, out, op);
      mine = out;
    }
  }
  fold.fold_out(out);
}

}  // namespace scalebench::allreduce
