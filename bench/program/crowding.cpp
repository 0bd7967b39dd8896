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

std::string own_machine(const Ranks& ranks) {
  return boot_id().empty() ? ranks.session.host() : boot_id();
}

std::vector<std::vector<double>> cores_by_rank(const Ranks& ranks) {
  const std::vector<int> cores = usable_cores();
  return gather_lists(ranks.host, {cores.begin(), cores.end()});
}

}  // namespace

bool is_crowded(const Ranks& ranks) {
  const std::vector<std::string> machines = all_gather(ranks.host, own_machine(ranks));
  const std::vector<std::vector<double>> cores = cores_by_rank(ranks);
  std::vector<std::vector<Core>> usable(machines.size());
  for (std::size_t rank = 0; rank < machines.size(); ++rank) {
    const auto machine = std::ranges::find(machines, machines[rank]) - machines.begin();
    for (const double core : cores[rank]) {
      usable[rank].emplace_back(static_cast<int>(machine), static_cast<int>(core));
    }
  }
  return too_few_cores(usable);
}

std::size_t cores_together(const Ranks& ranks) {
  const std::vector<std::string> machines = all_gather(ranks.host, own_machine(ranks));
  const std::vector<std::vector<double>> cores = cores_by_rank(ranks);
  std::set<double> together;
  for (std::size_t rank = 0; rank < machines.size(); ++rank) {
    if (machines[rank] == own_machine(ranks))
      together.insert(cores[rank].begin(), cores[rank].end());
  }
  return together.size();
}

}  // namespace scalebench
