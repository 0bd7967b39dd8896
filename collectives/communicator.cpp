// SPDX-License-Identifier: Apache-2.0
#include "collectives/communicator.hpp"

#include <algorithm>

namespace scalebench {

int Topology::nodes() const {
  if (node_of_rank.empty()) return 0;
  return *std::max_element(node_of_rank.begin(), node_of_rank.end()) + 1;
}

Topology topology_of_hosts(std::span<const std::string> host_of_rank) {
  Topology topology;
  std::vector<std::string> seen;
  for (const std::string& host : host_of_rank) {
    const auto found = std::find(seen.begin(), seen.end(), host);
    topology.node_of_rank.push_back(static_cast<int>(found - seen.begin()));
    if (found == seen.end()) seen.push_back(host);
  }
  return topology;
}

std::optional<Span> Communicator::peer(Span /*mine*/, int /*rank*/) { return std::nullopt; }

bool Communicator::native_allreduce(Span /*data*/) { return false; }

}  // namespace scalebench
