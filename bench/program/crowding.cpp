// SPDX-License-Identifier: Apache-2.0
#include "bench/program/crowding.hpp"

#include <algorithm>
#include <cstddef>

#include "bench/machine/host_files.hpp"
#include "bench/machine/identity.hpp"
#include "collectives/control.hpp"
#include "collectives/seats.hpp"

namespace scalebench {

bool share_cores(const std::vector<std::string>& machines,
                 const std::vector<std::vector<double>>& cores) {
  std::vector<std::vector<Core>> usable(machines.size());
  for (std::size_t rank = 0; rank < machines.size(); ++rank) {
    const auto machine = std::ranges::find(machines, machines[rank]) - machines.begin();
    for (const double core : cores[rank]) {
      usable[rank].emplace_back(static_cast<int>(machine), static_cast<int>(core));
    }
  }
  Seats seats(usable);
  for (std::size_t rank = 0; rank < machines.size(); ++rank) {
    if (!seats.give(rank)) return true;
  }
  return false;
}

bool is_crowded(const Ranks& ranks) {
  const std::string mine = boot_id().empty() ? ranks.session.host() : boot_id();
  const std::vector<int> cores = usable_cores();
  return share_cores(all_gather(ranks.host, mine),
                     gather_lists(ranks.host, {cores.begin(), cores.end()}));
}

}  // namespace scalebench
