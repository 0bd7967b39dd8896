// SPDX-License-Identifier: Apache-2.0
// Segmented ring: a ring whose chunks travel in segments, each combined while it is still in the
// cache and, where the transport moves data by itself, while the next one is under way. Phases as
// in ring. Cost: 2(p-1)s steps for s = ceil(n/p / segment), 2n(p-1)/p elements sent, n(p-1)/p
// combined. Wins for the largest messages on networks that like theirs short; s = 1 is the plain
// ring. Open MPI's coll_base_allreduce.c has one for more than 1 MiB a rank.
#include "collectives/communicator.hpp"
#include "collectives/steps.hpp"

namespace scalebench::allreduce {

void segmented_ring(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  Ring everyone = ring_of_all(communicator);
  everyone.segment = kSegmentElements;
  ring_reduce_scatter(communicator, everyone, in, out, op);
  ring_allgather(communicator, everyone, out);
}

}  // namespace scalebench::allreduce
