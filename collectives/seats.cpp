// SPDX-License-Identifier: Apache-2.0
#include "collectives/seats.hpp"

#include <cstddef>
#include <map>
#include <set>

namespace scalebench {
namespace {

/// Gives each rank a core of its own, for which those before it may change theirs.
class Seats {
 public:
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

}  // namespace

bool too_few_cores(const std::vector<std::vector<Core>>& cores) {
  Seats seats(cores);
  for (std::size_t rank = 0; rank < cores.size(); ++rank) {
    if (!seats.give(rank)) return true;
  }
  return false;
}

}  // namespace scalebench
