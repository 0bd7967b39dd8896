// SPDX-License-Identifier: Apache-2.0
// Every rank sends its whole buffer to rank 0, which combines them in rank order and sends the
// result back. Cost: 2(p-1) steps at rank 0, n(p-1) elements sent by it: time grows with p at every
// size. Wins nowhere; it is the floor that any other algorithm must beat.
#include "collectives/communicator.hpp"

namespace scalebench::allreduce {

void naive(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  const int ranks = communicator.size();
  const Span nothing = out.part(0, 0);
  if (communicator.rank() != 0) {
    communicator.exchange(in, 0, nothing, 0);
    communicator.exchange(nothing, 0, out, 0);
    return;
  }
  communicator.copy(in, out);
  for (int from = 1; from < ranks; ++from) {
    communicator.exchange_reduce(nothing, from, out, out, from, op);
  }
  for (int to = 1; to < ranks; ++to) communicator.exchange(out, to, nothing, to);
}

}  // namespace scalebench::allreduce
