// SPDX-License-Identifier: Apache-2.0
#include "bench/program/host_names.hpp"

#include <fmt/format.h>

#include <set>

namespace scalebench {

std::vector<std::string> of_hosts(const Topology& topology,
                                  const std::vector<std::string>& of_ranks) {
  std::vector<std::string> found(static_cast<std::size_t>(topology.nodes()));
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    found[static_cast<std::size_t>(topology.node_of_rank[rank])] = of_ranks[rank];
  }
  return found;
}

std::vector<std::string> host_names(const Topology& topology,
                                    const std::vector<std::string>& name_of_rank) {
  std::vector<std::string> names = of_hosts(topology, name_of_rank);
  std::set<std::string> taken;
  for (std::string& name : names) {
    const std::string plain = name;
    for (int number = 2; !taken.insert(name).second; ++number) {
      name = fmt::format("{}-{}", plain, number);
    }
  }
  return names;
}

}  // namespace scalebench
