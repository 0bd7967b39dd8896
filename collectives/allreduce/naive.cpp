// SPDX-License-Identifier: Apache-2.0
// Every rank sends its whole buffer to rank 0, which adds them in rank order and sends the sum
// back. Cost: 2(p-1) steps at rank 0, n(p-1) elements sent by it: time grows with p at every size.
// Wins nowhere; it is the floor that any other algorithm must beat.
#include "collectives/allreduce.hpp"

namespace scalebench::allreduce {

void naive(Communicator& communicator, Span data) {
  const int ranks = communicator.size();
  const Span nothing = data.part(0, 0);
  if (communicator.rank() != 0) {
    communicator.exchange(data, 0, nothing, 0);
    communicator.exchange(nothing, 0, data, 0);
    return;
  }
  const Span received = communicator.scratch(data.count, data.dtype);
  for (int from = 1; from < ranks; ++from) {
    communicator.exchange(nothing, from, received, from);
    communicator.add(data, received);
  }
  for (int to = 1; to < ranks; ++to) communicator.exchange(data, to, nothing, to);
}

}  // namespace scalebench::allreduce
