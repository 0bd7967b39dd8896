// SPDX-License-Identifier: Apache-2.0
// Asks another program a short question. Never hangs on it and never lets a shell see its
// arguments.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/launch/hosts.hpp"

namespace scalebench {

struct CommandAnswer {
  bool answered = false;  // started, ended by itself, and with exit code 0
  std::string output;     // stdout and stderr together, at most 64 KiB; or why it did not start
};

/// Runs `command` with an empty stdin; it is killed once it says nothing for `patience_seconds`.
CommandAnswer ask(const std::vector<std::string>& command, int patience_seconds);

/// The executable file that `name` stands for: as it is when it has a '/', else the first on the
/// PATH.
std::optional<std::filesystem::path> find_program(std::string_view name);

// Starting one program under a launcher and waiting for its end: output into files, a deadline, no
// process left behind. What went wrong is said in one line.

/// One start of one program on N ranks.
struct PlannedLaunch {
  int number = 0;       // in the order of the study, from 1
  int round = 0;        // which of the repeated launches, from 0
  std::string name;     // "allreduce-n2", on several hosts "epoch-mlp-mirrored-strong-2x2"
  std::string program;  // "bench_allreduce"
  int ranks = 1;
  int nodes = 1;     // hosts that the ranks are on; 0: the launcher's own arguments say which
  int per_node = 1;  // ranks of each
  std::vector<std::string> arguments;
  std::size_t study = 0;        // epoch launches: which of the config's epoch studies
  std::string gradient_sync;    // epoch launches
  std::string skipped_because;  // not empty: is not started, for this reason
  double guess_seconds = 0;     // before anything was measured: the order of magnitude
};

struct LaunchSettings {
  std::string launcher = "open_mpi";                // of launcher.def
  std::string mpirun = "mpirun";                    // its command
  std::string mpi = "Open MPI";                     // what the programs are linked with
  Hosts hosts;                                      // with slots, in order; empty: this host
  std::map<std::string, std::string> host_names{};  // what they call themselves, where known
  std::string device = "auto";                      // as in the config
  int threads = 1;                                  // of each rank
  std::filesystem::path programs;                   // folder of the benchmark programs
  std::string run_id;
  bool oversubscribe = false;
  bool bind_to_core = true;
  std::vector<std::string> mpirun_arguments;
  std::vector<std::pair<std::string, std::string>> environment;  // added to this process's
};

/// What a launch may take before it counts as stuck, by what it is expected to take; and when the
/// launcher itself is to end it, should all else fail.
double deadline_seconds(const PlannedLaunch& launch);
int backstop_seconds(const PlannedLaunch& launch);

/// The hosts of a launch in the order of its ranks; none: left to the launcher. Throws UsageError
/// when there are too few.
Hosts hosts_of(const PlannedLaunch& launch, const LaunchSettings& settings);

/// argv of a launch, ready to be typed: mpirun, its options, the program, its options.
std::vector<std::string> command_of(const PlannedLaunch& launch, const LaunchSettings& settings,
                                    const std::filesystem::path& out);

/// The same as one line that a shell takes.
std::string shell_line(const std::vector<std::string>& command);

struct LaunchEnd {
  bool ok = false;
  bool interrupted = false;  // `stop` was set while it ran
  double seconds = 0;
  std::string why;  // one line when not ok: what the program said, the signal, or the deadline
};

/// Runs `command` in a process group of its own, with stdout and stderr in `folder`/stdout.log and
/// stderr.log and the command in command.txt. After `deadline_seconds`, or when `stop` becomes
/// true, the group gets SIGTERM, and ten seconds later SIGKILL.
LaunchEnd run_launch(const std::vector<std::string>& command, const LaunchSettings& settings,
                     const std::filesystem::path& folder, double deadline_seconds,
                     const std::atomic<bool>& stop);

}  // namespace scalebench
