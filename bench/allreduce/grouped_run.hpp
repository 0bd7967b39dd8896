// SPDX-License-Identifier: Apache-2.0
// bench_allreduce --groups and --pairs: groups of the ranks that reduce at the same time, each with
// transports of its own; a row of allreduce_groups.csv for each group of two or more.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/allreduce/grouped_report.hpp"
#include "bench/allreduce/groups.hpp"
#include "bench/allreduce/rows.hpp"

namespace scalebench {

class GroupedRun {
 public:
  /// Collective. Throws JointRefusal for groups or pairs that these ranks cannot form. All that is
  /// passed outlives it.
  GroupedRun(const Ranks& ranks, const AllreduceOptions& options, const TransportPlan& wanted,
             const RankDevices& devices, Console& console);

  /// Collective. Measures the plan in every round and returns the program's exit code. What it
  /// throws leaves windows that only all ranks together can let go of.
  ExitCode measure();

 private:
  /// Opens the transports of a round: their groups are in its Grouping.
  void form_groups(const Grouping& grouping);
  void measure_round(std::size_t round);
  /// `number`: of the case among those of all rounds, from 1.
  void measure_case(const AllreduceCase& one, std::size_t round, std::size_t number,
                    const std::function<double()>& begin_part);
  /// Empty, or why this case cannot run in some group: the others would wait for that one.
  std::string why_not(const AllreduceCase& one);
  void write(const AllreduceCase& one, std::size_t round, const AllreduceResult& result);
  /// What the rows of one group share.
  AllreduceRowContext context_of(std::size_t round, std::size_t group) const;
  std::string title(const AllreduceCase& one) const;

  const Ranks& ranks_;
  const AllreduceOptions& options_;
  const TransportPlan& wanted_;
  const RankDevices& devices_;
  Console& console_;
  const Topology topology_;
  const std::vector<Grouping> groupings_;  // by round
  Recorder recorder_;
  AllreduceMethod method_;
  CollectiveTimer timer_;
  const std::vector<std::string> hosts_;  // by rank
  std::vector<std::string> cards_;        // by rank; of the round's transports
  GroupedReport report_;
  HostReport host_report_;
  Outcome outcome_;

  // Of the round. The transports go before the communicator that controls them.
  std::unique_ptr<Communicator> control_;
  std::vector<LaunchTransport> transports_;
  std::unique_ptr<AllreduceVerifier> verifier_;
};

}  // namespace scalebench
