// SPDX-License-Identifier: Apache-2.0
// Who can have a core of its own among those that it may run on, all others having theirs: a
// matching in a bipartite graph, grown by augmenting paths.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace scalebench {

/// A machine and a core of it, by numbers of the caller's.
using Core = std::pair<int, int>;

/// Gives each rank a core of its own, for which those before it may change theirs.
class Seats {
 public:
  /// By rank: the cores that it may run on. Must outlive this.
  explicit Seats(const std::vector<std::vector<Core>>& cores) : cores_(cores) {}

  /// Whether there is one for `rank` too.
  bool give(std::size_t rank) {
    asked_.clear();
    return find(rank);
  }

 private:
  bool find(std::size_t rank) {
    for (const Core& core : cores_[rank]) {
      if (rank_on_.try_emplace(core, rank).second) return true;
    }
    for (const Core& core : cores_[rank]) {
      if (!asked_.insert(core).second || !find(rank_on_.at(core))) continue;
      rank_on_[core] = rank;
      return true;
    }
    return false;
  }

  const std::vector<std::vector<Core>>& cores_;
  std::map<Core, std::size_t> rank_on_;
  std::set<Core> asked_;  // whose ranks have been asked to change
};

}  // namespace scalebench
