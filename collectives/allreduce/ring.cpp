// SPDX-License-Identifier: Apache-2.0
// Ring: the buffer is cut into p chunks, which travel around a ring of ranks.
// Phase 1, reduce-scatter: p-1 steps, each rank adds what arrives; then it owns one full sum.
// Phase 2, allgather: p-1 steps, the full sums travel on. Every rank sends 2n(p-1)/p elements.
// Wins for large messages: no rank and no link carries more than any other. Patarasuk & Yuan 2009.
#include <array>

#include "collectives/allreduce.hpp"
#include "collectives/chunk.hpp"

namespace scalebench::allreduce {

void ring(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  const int p = communicator.size();
  if (p == 1) return communicator.copy(in, out);
  const int rank = communicator.rank();
  const int right = (rank + 1) % p;
  const int left = (rank + p - 1) % p;
  const auto index = [&](int chunk) { return ((chunk % p) + p) % p; };
  const auto chunk = [&](int i) { return chunk_of(out, index(i), p); };
  const Span scratch = communicator.scratch(chunk(0).count, out.dtype);

  for (int step = 0; step < p - 1; ++step) {
    const Span mine = chunk(rank - step - 1);
    const Span received = scratch.part(0, mine.count);
    const ConstSpan sent = step == 0 ? chunk_of(in, rank, p) : ConstSpan(chunk(rank - step));
    communicator.exchange(sent, right, received, left);
    const std::array<ConstSpan, 2> both{chunk_of(in, index(rank - step - 1), p), received};
    communicator.combine(both, std::span(&mine, 1), op);
  }
  for (int step = 0; step < p - 1; ++step) {
    communicator.exchange(chunk(rank + 1 - step), right, chunk(rank - step), left);
  }
}

}  // namespace scalebench::allreduce
