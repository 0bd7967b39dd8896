// SPDX-License-Identifier: Apache-2.0
// Processes that a platform started side by side, without a launcher of ranks: the first of them
// starts the launcher for all, and the others end, or wait for its end where the platform needs
// that. Nothing is sent between them.
#pragma once

#include <string>
#include <vector>

#include "bench/launch/launcher.hpp"
#include "bench/machine/descriptor.hpp"

namespace scalebench {

/// What each process says in one line: who starts the ranks, and what becomes of this one.
std::string part_of(const ProcessPlace& place);

/// While it lives, and in a program that takes this process's place, others can see that the first
/// process is there: a port of its host is open, to which they connect. None is opened where nobody
/// has to stay.
class OpenPort {
 public:
  /// Throws UsageError where the port cannot be opened.
  explicit OpenPort(const ProcessPlace& place);

 private:
  Descriptor socket_;
};

/// Returns when the first process has ended, at once where nobody has to stay. Throws Error when it
/// has not been there for `patience_seconds`.
void stay_for_first(const ProcessPlace& place, int patience_seconds = 300);

/// Throws UsageError where the first process cannot start anything on the others' hosts, because
/// ssh, which the launcher would use there, does not reach the next of them. It says what is
/// missing, and what to type on this platform.
void require_way_to(const LaunchSettings& settings, const ProcessPlace& place,
                    const EnvironmentVariables& variables);

/// Takes Slurm's variables from this process: inside a step mpirun would take the hosts for the
/// step's, and need another step.
void leave_step();

/// A program of ranks as it was typed, and what each of its ranks needs here.
struct RankProgram {
  std::vector<std::string> command;  // its path and arguments
  std::string mpi;                   // what the MPI says that it is linked with
  int devices = 0;                   // GPUs of this host
  int threads = 1;                   // of each rank
};

/// How the launcher starts the program.
struct RankStart {
  std::vector<std::string> command;  // of the launcher
  LaunchSettings settings;
};

/// As many ranks on each host as the description has slots, else GPUs, else cores. Throws
/// UsageError where hosts have different numbers of them, and for another MPI's launcher.
RankStart start_of(const RankProgram& program, ClusterDescription cluster,
                   const EnvironmentVariables& variables);

}  // namespace scalebench
