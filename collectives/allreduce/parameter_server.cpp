// SPDX-License-Identifier: Apache-2.0
// Parameter server, sharded: each rank is the server of one chunk.
// Phase 1: all send each chunk to its server, which combines what arrives. Phase 2: the servers
// send the results to all. In step s every rank sends to rank + s and receives from rank - s, so
// that nobody is a hot spot. Cost: 2(p-1) steps, 2n(p-1)/p elements sent, n(p-1)/p combined.
// Wins over a ring where messages do not wait for each other; loses where paths cross. Li 2014.
#include "collectives/communicator.hpp"
#include "collectives/steps.hpp"

namespace scalebench::allreduce {

void parameter_server(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  const int p = communicator.size();
  if (p == 1) return communicator.copy(in, out);
  const int rank = communicator.rank();
  const Span shard = chunk_of(out, rank, p);
  const Span received = communicator.scratch(shard.count, out.dtype);

  for (int step = 1; step < p; ++step) {
    const int to = (rank + step) % p, from = (rank + p - step) % p;
    communicator.exchange(chunk_of(in, to, p), to, received, from);
    const ConstSpan so_far = step == 1 ? chunk_of(in, rank, p) : ConstSpan(shard);
    communicator.reduce(so_far, received, shard, op);
  }
  for (int step = 1; step < p; ++step) {
    const int to = (rank + step) % p, from = (rank + p - step) % p;
    communicator.exchange(shard, to, chunk_of(out, from, p), from);
  }
}

}  // namespace scalebench::allreduce
