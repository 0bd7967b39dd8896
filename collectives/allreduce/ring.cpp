// SPDX-License-Identifier: Apache-2.0
// Ring: the buffer is cut into p chunks, which travel around a ring of ranks.
// Phase 1, reduce-scatter: p-1 steps, each rank adds what arrives; then it owns one full sum.
// Phase 2, allgather: p-1 steps, the full sums travel on. Every rank sends 2n(p-1)/p elements.
// Wins for large messages: no rank and no link carries more than any other. Patarasuk & Yuan 2009.
#include "collectives/communicator.hpp"
#include "collectives/steps.hpp"

namespace scalebench::allreduce {

void ring(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  const Ring everyone = ring_of_all(communicator);
  ring_reduce_scatter(communicator, everyone, in, out, op);
  ring_allgather(communicator, everyone, out);
}

}  // namespace scalebench::allreduce
