// SPDX-License-Identifier: Apache-2.0
// The hosts of a study, from the notations that launchers use: lists, hostfiles, Slurm's
// expressions. Names are checked here, where they enter: nothing else reaches a command line, and
// no shell is involved anywhere.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace scalebench {

struct Host {
  std::string name;  // letters, digits, . - _; an IPv6 address in its brackets
  int slots = 0;     // ranks that it takes; 0: not said
  bool operator==(const Host&) const = default;
};
using Hosts = std::vector<Host>;

/// "h1:4,h2:4", as Open MPI's -H. Throws UsageError in one line that begins with `source`: for what
/// is no host name, for slots that are no number from 1 to 65536, and for a host named twice.
Hosts parse_hosts(std::string_view words, std::string_view source = "--hosts");

/// Open MPI's hostfile ("host slots=2 max_slots=4") and MPICH's ("host:2"), with # comments. Throws
/// UsageError as `file:line:column: what; what is valid`.
Hosts read_hostfile(const std::filesystem::path& path);

/// Slurm's expressions: "n[1-3,7],gpu[01-04]-ib,login". Throws as parse_hosts does.
Hosts expand_nodelist(std::string_view expression, std::string_view source = "SLURM_JOB_NODELIST");

/// Slurm's "2(x3),1": the tasks of each node. Throws as parse_hosts does.
std::vector<int> tasks_per_node(std::string_view words,
                                std::string_view source = "SLURM_TASKS_PER_NODE");

/// "h1:4,h2:4": what parse_hosts reads back; hosts without slots have no colon.
std::string host_words(const Hosts& hosts);

}  // namespace scalebench
