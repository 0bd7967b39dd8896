// SPDX-License-Identifier: Apache-2.0
// The variables of a process by name, and numbers in them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/program/join/sockets.hpp"

namespace scalebench {

using EnvironmentVariables = std::map<std::string, std::string, std::less<>>;

/// Of a null-terminated array of "NAME=value" as ::environ is; empty ones count as not set.
EnvironmentVariables environment_variables(const char* const* environment);

/// Empty when it is not set.
std::string variable(const EnvironmentVariables& variables, std::string_view name);

/// Throws UsageError in one line when `name` is not set, or is no number from `lowest` to `highest`
/// (`why`: where that limit comes from, as "WORLD_SIZE is 4"; may be empty).
int number_in(const EnvironmentVariables& variables, std::string_view name, int lowest, int highest,
              std::string_view why = {});

// What the environment of a launcher that is not MPI's says of a start: how many processes there
// are, which of them this one is, and where they meet. Knows variables, never a socket.

struct JoinPlan {
  std::string source;                  // the variables that said it, for messages
  std::vector<std::string> processes;  // by number, as people know them: "rank 1", "worker 0 (h2)"
  int process = 0;                     // number of this one; 0 is the first, who starts the ranks
  bool is_agent = true;                // of the processes of its host, the one that starts ranks
  std::string host;                    // of this process; empty: the environment does not name it
  int slots = 1;                       // ranks of this host; 0: as many as it has cores
  bool is_on_one_host = false;         // all processes of the start are on this host
  Endpoint meeting;                    // where the first one listens
  std::string job;                     // the same for all processes of a start, and for no other
  std::string note;                    // what a user should know; may be empty
  // Each process has been given a share of the host's cores, which is not what ranks are to
  // inherit.
  bool is_confined = false;

  bool is_first() const { return process == 0; }
  int size() const { return static_cast<int>(processes.size()); }
  const std::string& name() const { return processes[static_cast<std::size_t>(process)]; }
};

/// Whether a launcher of MPI has started this process.
bool is_mpi_rank(const EnvironmentVariables& variables);

/// Empty where a launcher of MPI has started this process, where nothing was started jointly, and
/// in processes that a joint start has started itself. Throws UsageError, one line that names the
/// variable.
std::optional<JoinPlan> join_plan(const EnvironmentVariables& variables);

/// Set in everything that a joint start starts, so that it does not begin anew there.
inline constexpr const char* kJoinedVariable = "SCALEBENCH_JOINED";

/// Names of those of `variables` by which an MPI or a program of the suite would take a rank of the
/// joint start for a process of the launcher's.
std::vector<std::string> misleading_variables(const EnvironmentVariables& variables);

}  // namespace scalebench
