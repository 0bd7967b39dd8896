// SPDX-License-Identifier: Apache-2.0
// Ring: the buffer is cut into p chunks, which travel around a ring of ranks.
// Phase 1, reduce-scatter: p-1 steps, each rank adds what arrives; then it owns one full sum.
// Phase 2, allgather: p-1 steps, the full sums travel on. Every rank sends 2n(p-1)/p elements.
// Wins for large messages: no rank and no link carries more than any other. Patarasuk & Yuan 2009.
#include <algorithm>

#include "collectives/allreduce.hpp"

namespace scalebench::allreduce {
namespace {

/// Chunk `index` of `chunks`: the first count % chunks of them are one element longer.
Span chunk_of(Span data, int index, int chunks) {
  const auto p = static_cast<std::size_t>(chunks);
  const auto i = static_cast<std::size_t>(index);
  const std::size_t base = data.count / p;
  const std::size_t longer = data.count % p;
  return data.part(i * base + std::min(i, longer), base + (i < longer ? 1 : 0));
}

}  // namespace

void ring(Communicator& communicator, Span data) {
  const int p = communicator.size();
  if (p == 1) return;
  const int rank = communicator.rank();
  const int right = (rank + 1) % p;
  const int left = (rank + p - 1) % p;
  const auto chunk = [&](int index) { return chunk_of(data, ((index % p) + p) % p, p); };
  const Span scratch = communicator.scratch(chunk(0).count, data.dtype);

  for (int step = 0; step < p - 1; ++step) {
    const Span mine = chunk(rank - step - 1);
    const Span received = scratch.part(0, mine.count);
    communicator.exchange(chunk(rank - step), right, received, left);
    communicator.add(mine, received);
  }
  for (int step = 0; step < p - 1; ++step) {
    communicator.exchange(chunk(rank + 1 - step), right, chunk(rank - step), left);
  }
}

}  // namespace scalebench::allreduce
