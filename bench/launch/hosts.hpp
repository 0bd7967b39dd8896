// SPDX-License-Identifier: Apache-2.0
// The hosts of a study, from what describes a cluster: lists, hostfiles, and the variables of
// Slurm, PBS, LSF, TensorFlow, SageMaker and torchrun. Names are checked here, where they enter:
// nothing else reaches a command line, and no shell is involved anywhere.
#pragma once

#include <compare>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/environment_variables.hpp"

namespace scalebench {

inline constexpr int kMostSlots = 65536;

struct Host {
  std::string name;  // letters, digits, . - _; an IPv6 address in its brackets
  int slots = 0;     // ranks that it takes; 0: not said
  bool operator==(const Host&) const = default;
};
using Hosts = std::vector<Host>;

/// "h1:4,h2:4", as Open MPI's -H, also "h1,h1,h2", where a host that is named again has one more
/// slot; names as Slurm writes them: "n[1-3,7]:8,gpu[01-04]-ib". Throws UsageError as "source:
/// 'word': what": for what is no host name, for slots that are no number from 1 to 65536, and for
/// more than 8192 hosts.
Hosts parse_hosts(std::string_view words, std::string_view source = "--hosts");

/// Open MPI's hostfile ("host slots=2 max_slots=4") and MPICH's ("host:2"), with # comments, and
/// the nodefile of PBS, which has a host's name in a line for each of its slots. Throws UsageError
/// as parse_hosts does, with the source `file:line`.
Hosts read_hostfile(const std::filesystem::path& path);

/// Slurm's "2(x3),1": the tasks of each node. Throws as parse_hosts does.
std::vector<int> tasks_per_node(std::string_view words,
                                std::string_view source = "SLURM_TASKS_PER_NODE");

/// "h1:4,h2:4": what parse_hosts reads back; hosts without slots have no colon.
std::string host_words(const Hosts& hosts);

// What describes a cluster to a process: what the user said, an allocation, or a platform that
// started processes side by side.

/// One of the processes that a platform started side by side, and no launcher of ranks.
struct ProcessPlace {
  std::string source;             // the variables that say it: "RANK, WORLD_SIZE"
  std::string own, first;         // as the platform calls this process and the first: "algo-2"
  bool is_first = false;          // it starts the ranks of all
  bool must_stay = false;         // the platform ends the job with the first process that returns
  std::string why_no_start = {};  // of ranks by the first process; empty: it may be tried
};

struct ClusterDescription {
  std::string source;           // "--hosts", "TF_CONFIG"; empty: nothing describes one
  Hosts hosts = {};             // in its order, the first one first; slots perhaps not said
  bool slots_are_gpus = false;  // of no use to ranks without
};

/// Whether a launcher of ranks has started this process.
bool is_mpi_rank(const EnvironmentVariables& variables);

/// By RANK and WORLD_SIZE (torchrun, Kubeflow), TF_CONFIG, SM_HOSTS, or the variables of a step of
/// Slurm; the first that speak of several processes. None: of ranks, and of a process alone. Throws
/// UsageError in one line that names the variable, what it holds, and what is valid.
std::optional<ProcessPlace> process_place(const EnvironmentVariables& variables);

/// What starts ranks on several hosts of the platform that set these.
std::string remedy_on(const EnvironmentVariables& variables);

/// Of what the user said (`option`: --hosts, `config`: [study] hosts; lists or hostfiles), Slurm,
/// PBS, LSF, TF_CONFIG, SageMaker, torchrun, the first that names hosts. Throws UsageError as
/// process_place does, where two of the variables' descriptions name other hosts, and in a process
/// that cannot start ranks on hosts that nobody said.
ClusterDescription described_cluster(const std::string& option, const std::string& config,
                                     const EnvironmentVariables& variables);

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

/// The hosts that a layout lies on: the first `nodes` that have the slots. Throws UsageError, in
/// one line, when there are too few; `oversubscribe`: slots do not count.
Hosts hosts_of(const Layout& layout, const Hosts& hosts, bool oversubscribe);

}  // namespace scalebench
