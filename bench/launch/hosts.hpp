// SPDX-License-Identifier: Apache-2.0
// The hosts of a study, from the notations that launchers use: lists, hostfiles, Slurm's
// expressions. Names are checked here, where they enter: nothing else reaches a command line, and
// no shell is involved anywhere.
#pragma once

#include <compare>
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

// How N ranks lie on hosts: so many hosts with so many ranks each. The same N over two hosts is
// another machine than over one, and the two never share a cell.

struct Layout {
  int nodes = 1;
  int per_node = 1;
  int ranks() const { return nodes * per_node; }
  auto operator<=>(const Layout&) const = default;
};

/// "2x4": 2 hosts with 4 ranks each.
std::string layout_words(const Layout& layout);
/// "1x1,2x4" or one of them. Throws UsageError in one line that begins with `source`.
std::vector<Layout> parse_layouts(std::string_view words, std::string_view source = "--layouts");

/// 1, 2, 4, ... and `most` itself.
std::vector<int> powers_up_to(int most);

/// 1x1, 1x2, ... 2x1, 2x2, ...: powers of two up to what the hosts' slots (all above 0) hold, and
/// the full ones.
std::vector<Layout> default_layouts(const Hosts& hosts);

/// N ranks on as few hosts as hold them evenly. Throws UsageError when none do; `oversubscribe`:
/// slots may be exceeded, by as little as possible.
Layout layout_of(int ranks, const Hosts& hosts, bool oversubscribe);

/// The hosts that a layout lies on: the first `nodes` that have the slots. Throws UsageError, in
/// one line, when there are too few; `oversubscribe`: slots do not count.
Hosts hosts_of(const Layout& layout, const Hosts& hosts, bool oversubscribe);

/// "4", and "2x2" where ranks lie on several nodes (texts as in rows; an empty one is unknown).
std::string ranks_words(const std::string& ranks, const std::string& nodes);

}  // namespace scalebench
