// SPDX-License-Identifier: Apache-2.0
#include "bench/program/crowding.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "bench/machine/host_files.hpp"
#include "bench/machine/identity.hpp"
#include "collectives/control.hpp"
#include "collectives/seats.hpp"

namespace scalebench {
namespace {

/// Those that each rank may run on, of machines that are counted from 0.
std::vector<std::vector<Core>> cores_by_rank(const Ranks& ranks) {
  const std::string own = boot_id().empty() ? ranks.session.host() : boot_id();
  const std::vector<std::string> machines = all_gather(ranks.host, own);
  const std::vector<int> cores = usable_cores();
  std::vector<std::vector<Core>> usable;
  for (const std::vector<double>& one : gather_lists(ranks.host, {cores.begin(), cores.end()})) {
    const auto at = std::ranges::find(machines, machines[usable.size()]);
    std::vector<Core>& mine = usable.emplace_back();
    for (const double core : one) {
      mine.emplace_back(static_cast<int>(at - machines.begin()), static_cast<int>(core));
    }
  }
  return usable;
}

}  // namespace

bool is_crowded(const Ranks& ranks) { return too_few_cores(cores_by_rank(ranks)); }

std::size_t cores_together(const Ranks& ranks) {
  const std::vector<std::vector<Core>> usable = cores_by_rank(ranks);
  const std::vector<Core>& mine = usable[static_cast<std::size_t>(ranks.session.rank())];
  std::set<Core> together;
  for (const std::vector<Core>& one : usable) {
    // A rank is on one machine.
    if (!one.empty() && one.front().first == mine.front().first) {
      together.insert(one.begin(), one.end());
    }
  }
  return together.size();
}

}  // namespace scalebench
