// SPDX-License-Identifier: Apache-2.0
#include "bench/program/crowding.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "bench/machine/host_files.hpp"
#include "bench/machine/identity.hpp"
#include "collectives/control.hpp"

namespace scalebench {

bool share_cores(const std::vector<std::string>& machines,
                 const std::vector<std::vector<double>>& cores) {
  struct Group {
    std::size_t ranks = 0;
    std::set<double> cores;
  };
  std::map<std::string, Group> of_machine;
  std::map<std::pair<std::string, std::vector<double>>, Group> of_equal;
  for (std::size_t rank = 0; rank < machines.size(); ++rank) {
    const std::string& machine = machines[rank];
    for (Group* const group : {&of_machine[machine], &of_equal[{machine, cores[rank]}]}) {
      ++group->ranks;
      group->cores.insert(cores[rank].begin(), cores[rank].end());
    }
  }
  const auto is_crowd = [](const auto& group) {
    return group.second.ranks > group.second.cores.size();
  };
  return std::ranges::any_of(of_machine, is_crowd) || std::ranges::any_of(of_equal, is_crowd);
}

bool is_crowded(const Ranks& ranks) {
  const std::string mine = boot_id().empty() ? ranks.session.host() : boot_id();
  const std::vector<int> cores = usable_cores();
  return share_cores(all_gather(ranks.host, mine),
                     gather_lists(ranks.host, {cores.begin(), cores.end()}));
}

}  // namespace scalebench
