// SPDX-License-Identifier: Apache-2.0
// Rabenseifner: lg p steps of recursive halving, in which two ranks exchange half of what they
// still reduce (reduce-scatter), then lg p steps of recursive doubling back (allgather). Cost: 2 lg
// p steps, 2n(p-1)/p elements sent, n(p-1)/p combined; p != 2^k: the same for the power of two
// below, 2 steps and n sent and combined more. Wins for medium and, for p = 2^k, large messages: as
// little traffic as a ring in fewer steps. Rabenseifner 2004; Thakur et al. 2005.
#include "collectives/communicator.hpp"
#include "collectives/steps.hpp"

namespace scalebench::allreduce {

void rabenseifner(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  if (communicator.size() == 1) return communicator.copy(in, out);
  Fold fold(communicator);
  ConstSpan mine = fold.fold_in(in, out, op);
  if (!fold.away()) {
    const int chunks = fold.ranks();
    // At distance d the partner differs in bit d; each is concerned with its own run of d chunks.
    const auto partner_at = [&](int distance) { return fold.rank_of(fold.index() ^ distance); };
    const auto mine_at = [&](int distance) { return fold.index() & ~(distance - 1); };
    const auto theirs_at = [&](int distance) { return mine_at(distance) ^ distance; };
    for (int distance = chunks / 2; distance > 0; distance /= 2) {
      const Span kept = chunks_of(out, mine_at(distance), distance, chunks);
      communicator.exchange_reduce(
          chunks_of(mine, theirs_at(distance), distance, chunks), partner_at(distance),
          chunks_of(mine, mine_at(distance), distance, chunks), kept, partner_at(distance), op);
      mine = out;
    }
    for (int distance = 1; distance < chunks; distance *= 2) {
      communicator.exchange(
          chunks_of(out, mine_at(distance), distance, chunks), partner_at(distance),
          chunks_of(out, theirs_at(distance), distance, chunks), partner_at(distance));
    }
  }
  fold.fold_out(out);
}

}  // namespace scalebench::allreduce
