// SPDX-License-Identifier: Apache-2.0
// Hierarchical: rings inside the nodes and between them, for g ranks on each of N = p/g nodes.
// Phases: reduce-scatter inside the node; a ring allreduce of each chunk among the ranks of all
// nodes that own it; allgather inside the node. Cost: 2(g-1) + 2(N-1) steps, 2n(g-1)/g elements
// sent inside and 2(n/g)(N-1)/N outside. Wins where the network is slow against the node: the g
// ranks share its load, and each element crosses it as rarely as possible. As NCCL's and Horovod's.
#include <algorithm>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/steps.hpp"

namespace scalebench::allreduce {
namespace {

using RanksOfNode = std::vector<std::vector<int>>;

RanksOfNode ranks_of_node(const Topology& topology) {
  RanksOfNode ranks(static_cast<std::size_t>(topology.nodes()));
  for (int rank = 0; const int node : topology.node_of_rank) {
    ranks[static_cast<std::size_t>(node)].push_back(rank++);
  }
  return ranks;
}

}  // namespace

void hierarchical(Communicator& communicator, ConstSpan in, Span out, ReduceOp op) {
  const Topology topology = communicator.topology();
  const int rank = communicator.rank();
  const auto my_node =
      static_cast<std::size_t>(topology.node_of_rank[static_cast<std::size_t>(rank)]);
  const RanksOfNode nodes = ranks_of_node(topology);
  const std::vector<int>& mates = nodes[my_node];
  const int index = static_cast<int>(std::ranges::find(mates, rank) - mates.begin());
  // Every chunk needs an owner in every node: in larger nodes the last ranks own nothing.
  const int owners =
      static_cast<int>(std::ranges::min_element(nodes, {}, &std::vector<int>::size)->size());

  const Ring inside = ring_of(mates, index, owners);
  ring_reduce_scatter(communicator, inside, in, out, op);
  if (index < owners) {
    std::vector<int> peers;
    for (const auto& ranks : nodes) peers.push_back(ranks[static_cast<std::size_t>(index)]);
    const Ring across = ring_of(peers, static_cast<int>(my_node), static_cast<int>(peers.size()));
    const Span own = chunk_of(out, index, owners);
    ring_reduce_scatter(communicator, across, own, own, op);
    ring_allgather(communicator, across, own);
  }
  ring_allgather(communicator, inside, out);
}

}  // namespace scalebench::allreduce
