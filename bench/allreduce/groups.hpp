// SPDX-License-Identifier: Apache-2.0
// Which ranks reduce among themselves, where not all do it together: several groups at the same
// time, as tensor-parallel groups run, or every pair of ranks or hosts, in rounds in which no two
// pairs have a rank in common.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/cli/command_line.hpp"
#include "bench/measure/repetition.hpp"
#include "collectives/communicator.hpp"

namespace scalebench {

enum class PairsOf { nothing, ranks, hosts };

struct GroupOptions {
  int groups = 0;  // at the same time; 0: not asked for
  PairsOf pairs = PairsOf::nothing;

  bool any() const { return groups > 0 || pairs != PairsOf::nothing; }
};

/// --groups and --pairs, bound to `options`.
void add_group_options(CLI::App& app, GroupOptions& options);

/// All ranks in groups that work at the same time.
struct Grouping {
  std::vector<int> group_of_rank;         // by rank: from 0
  std::vector<std::vector<int>> members;  // by group: its ranks, ascending
};

/// One Grouping for --groups: consecutive ranks share a group. For --pairs one a round: pairs, and
/// alone the rank or host that sits out, if their number is odd; both hosts of a pair with all of
/// their ranks. Throws UsageError for groups that do not divide the ranks, or have one rank only,
/// and for pairs of fewer than two ranks or hosts.
std::vector<Grouping> groupings_of(const GroupOptions& options, const Topology& topology);

/// What those ranks had of each repetition: the longest of their rank_seconds, which is from the
/// common start to their last end, or with StartMode::barrier the longest own duration. `target`:
/// of the stop rule, by which these converged or did not.
Timing timing_of(const Timing& all, std::span<const int> members, double target);

/// "0-3,8": ranks in words.
std::string show_ranks(std::span<const int> ranks);

}  // namespace scalebench
