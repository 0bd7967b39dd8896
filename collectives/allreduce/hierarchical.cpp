// SPDX-License-Identifier: Apache-2.0
// Hierarchical: rings inside the nodes and between them, for g ranks on each of N = p/g nodes.
// Phases: reduce-scatter inside the node; a ring allreduce of each chunk among the ranks of all
// nodes that own it; allgather inside the node. Cost: 2(g-1) + 2(N-1) steps, 2n(g-1)/g elements
// sent inside and 2(n/g)(N-1)/N outside. Wins where the network is slow against the node: the g
// ranks share its load, and each element crosses it as rarely as possible. As NCCL's and Horovod's.
#include "collectives/communicator.hpp"
#include "collectives/steps.hpp"

namespace scalebench::allreduce {

void hierarchical(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  const NodePlace place(communicator);
  const Ring inside = ring_of(place.nodes[place.node], place.index, place.owners);
  ring_reduce_scatter(communicator, inside, in, out, op);
  if (place.index < place.owners) {
    const Ring across =
        ring_of(place.peers, static_cast<int>(place.node), static_cast<int>(place.peers.size()));
    const Span own = chunk_of(out, place.index, place.owners);
    ring_reduce_scatter(communicator, across, own, own, op);
    ring_allgather(communicator, across, own);
  }
  ring_allgather(communicator, inside, out);
}

}  // namespace scalebench::allreduce
