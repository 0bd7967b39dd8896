// SPDX-License-Identifier: Apache-2.0
#include "bench/program/crowding.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "bench/machine/host_files.hpp"
#include "bench/machine/identity.hpp"
#include "collectives/control.hpp"

namespace scalebench {

namespace {

/// Gives each rank a core of its own, for which those before it may change theirs.
class Seats {
 public:
  Seats(const std::vector<std::string>& machines, const std::vector<std::vector<double>>& cores)
      : machines_(machines), cores_(cores) {}

  /// Whether there is one for `rank` too.
  bool give(std::size_t rank) {
    asked_.clear();
    return find(rank);
  }

 private:
  using Core = std::pair<std::string, double>;  // its machine and its number

  bool find(std::size_t rank) {
    for (const double number : cores_[rank]) {
      if (rank_on_.try_emplace({machines_[rank], number}, rank).second) return true;
    }
    for (const double number : cores_[rank]) {
      const Core core{machines_[rank], number};
      if (!asked_.insert(core).second || !find(rank_on_.at(core))) continue;
      rank_on_[core] = rank;
      return true;
    }
    return false;
  }

  const std::vector<std::string>& machines_;
  const std::vector<std::vector<double>>& cores_;
  std::map<Core, std::size_t> rank_on_;
  std::set<Core> asked_;  // whose ranks have been asked to change
};

}  // namespace

bool share_cores(const std::vector<std::string>& machines,
                 const std::vector<std::vector<double>>& cores) {
  Seats seats(machines, cores);
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
