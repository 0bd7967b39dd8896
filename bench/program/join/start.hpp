// SPDX-License-Identifier: Apache-2.0
// The other processes of a joint start: find the first one, start mpirun's daemons on its word when
// they are their host's agent, and leave with its exit code.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/program/join/environments.hpp"
#include "bench/program/join/meeting.hpp"

namespace scalebench {

/// Returns the exit code that the first one says goodbye with. Throws NotTogether when it does not
/// answer within `patience`, refuses, leaves without a goodbye, or when `stop` becomes true. What
/// was started here has ended by then.
int attend(const JoinPlan& plan, const std::string& key, std::chrono::milliseconds patience,
           const std::atomic<bool>& stop);

// A joint start from end to end: reads the environment, meets, and either waits for the first
// process's end or is the first one, which then starts ranks as often as it likes.

struct JointStart {
  JoinPlan plan;
  std::string key;
  std::chrono::milliseconds patience;  // until all have come: SCALEBENCH_JOIN_TIMEOUT seconds
};

/// What this process's environment says, as join_plan; the variables that would mislead what is
/// started from here are then gone from it. Throws UsageError.
std::optional<JointStart> enter_joint_start();

/// By environment variables: mpirun is to reach the hosts of the meeting through it, and rows from
/// hosts that are one machine are emulated.
void lead_mpirun_to(const Meeting& meeting);

struct RankProgram {
  std::vector<std::string> command;  // its path and arguments
  int threads = 1;                   // of each rank; above 1 ranks are not bound to a core
  bool drives_devices = false;       // nor then
};

struct RankPlaces {
  Hosts hosts = {};
  bool is_crowded = false;      // more ranks than cores
  bool on_one_machine = false;  // some of the hosts are
};

/// mpirun's argv for the program on all of these hosts. `variables`: names of those that all ranks
/// are to have as this process has them.
std::vector<std::string> mpirun_command(const RankProgram& program, const RankPlaces& places,
                                        const std::vector<std::string>& variables);

/// What a rank ends with for this exit code: for a finding, where run_ranks has started it, with a
/// code of its own, since mpirun and libraries end with 1 when they fail.
int rank_code(int code);

/// Runs the program under mpirun and returns its exit code, of rank_code turned back; 3 for one
/// that is none of the suite's. Throws NotTogether when somebody leaves the meeting or `stop`
/// becomes true; the ranks have ended by then.
int run_ranks(const RankProgram& program, Meeting& meeting, const std::atomic<bool>& stop);

}  // namespace scalebench
