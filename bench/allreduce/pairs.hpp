// SPDX-License-Identifier: Apache-2.0
// bench_allreduce --pairs: the allreduce of every pair of ranks, or of hosts with all of their
// ranks, in rounds in which no two pairs have a rank in common and all work at the same time. A
// table of them, who in it is slower than the others, and a row of pairs.csv for each.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/allreduce/options.hpp"
#include "bench/hosts/pair_outliers.hpp"
#include "bench/measure/repetition.hpp"
#include "bench/program/program.hpp"

namespace scalebench {

/// All ranks: pairs, and alone the rank or host that sits out, if their number is odd.
struct PairRound {
  std::vector<int> group_of_rank;         // by rank: from 0
  std::vector<std::vector<int>> members;  // by group: its ranks, ascending
};

/// Throws UsageError for fewer than two ranks or hosts.
std::vector<PairRound> pair_rounds(PairsOf pairs, const Topology& topology);

/// What those ranks had of each repetition: the longest of their rank_seconds, which is from the
/// common start to their last end, or with StartMode::barrier the longest own duration.
Timing timing_of(const Timing& all, std::span<const int> members);

/// One case of all pairs: its table, and who in it is slow.
class PairTable {
 public:
  /// `title` names the case, of so many bytes. All that is passed outlives it.
  PairTable(std::string title, std::size_t bytes, PairsOf pairs, const Topology& topology,
            const std::vector<std::string>& hosts)
      : title_(std::move(title)),
        bytes_(bytes),
        pairs_(pairs),
        topology_(topology),
        hosts_(hosts) {}

  /// What a pair took. A host that sits out measures itself, and is left out.
  void add(std::span<const int> members, double seconds, double busbw_gb_per_s);
  /// `tests`: how many tables there are.
  std::vector<PairOutlier> outliers(std::size_t tests) const;
  /// The table, and a line for each outlier or that there is none.
  std::string text(const std::vector<PairOutlier>& outliers) const;

  const std::string& title() const { return title_; }

 private:
  int members() const;
  std::string name_of_member(int member) const;
  std::string square() const;
  std::string sentence_of(const PairOutlier& outlier) const;

  std::string title_;
  std::size_t bytes_;
  PairsOf pairs_;
  const Topology& topology_;
  const std::vector<std::string>& hosts_;  // by rank
  std::vector<PairTime> times_;
  std::map<std::pair<int, int>, double> shown_;  // microseconds of a short message, else busbw
};

/// Collective. Throws JointRefusal for pairs that these ranks cannot form. What it returns is
/// collective, too, measures the plan in every round and returns the program's exit code; what that
/// throws leaves windows that only all ranks together can let go of. All that is passed outlives
/// it.
std::function<ExitCode()> pair_run(const Ranks& ranks, const AllreduceOptions& options,
                                   const TransportPlan& wanted, const RankDevices& devices,
                                   Console& console);

}  // namespace scalebench
