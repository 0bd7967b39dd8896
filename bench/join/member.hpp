// SPDX-License-Identifier: Apache-2.0
// A process of a joint start as the first one knows it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/join/join_plan.hpp"
#include "bench/join/message_stream.hpp"
#include "bench/study/hosts.hpp"

namespace scalebench {

struct Member {
  int process = 0;
  bool is_agent = false;
  std::string host;  // as its environment calls it, or as it calls itself
  std::string node;  // as mpirun is to call it; given once all are there
  std::string machine;
  int slots = 0;  // 0: not said
  int cores = 1;
  std::string peer;                       // its address
  std::unique_ptr<MessageStream> stream;  // none: the first process itself

  int ranks() const { return slots > 0 ? slots : cores; }
};
/// Sorted by process.
using Members = std::vector<Member>;

/// The first process itself.
Member first_member(const JoinPlan& plan);

/// What an introduction says; empty `why` when it fits the plan and nobody else has that number.
Member introduced_member(const Message& introduction, const JoinPlan& plan, const Members& members,
                         std::string& why);

/// "rank 1 (h2, 10.0.0.2)".
std::string describe(const Member& member, const JoinPlan& plan);

/// Names of those who have not come, at most eight of them: "rank 2, rank 3".
std::string missing(const Members& members, const JoinPlan& plan);

/// Gives each agent's host a name of its own for mpirun. Throws NotTogether when the agents' hosts
/// take more or fewer ranks than there are processes, where the environment counts ranks.
void name_nodes(Members& members, const JoinPlan& plan);

/// Of the agents.
Hosts hosts_of(const Members& members);

/// Two hosts that are one machine, by their names for mpirun; empty: there are none. Each of them
/// believes that it has all cores.
std::string on_one_machine(const Members& members);

/// Whether a machine has fewer cores than ranks.
bool is_crowded(const Members& members);

/// The agent of a host under any of its names; null when there is none.
Member* agent_of(Members& members, const std::string& host);

}  // namespace scalebench
