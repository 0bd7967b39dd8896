// SPDX-License-Identifier: Apache-2.0
// One start of one program on N ranks, and its command: each launcher turns it into the words
// that start its ranks. Words are an argv; no shell ever sees them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/launch/hosts.hpp"
#include "bench/launch/process.hpp"

namespace scalebench {

/// One start of one program on N ranks.
struct PlannedLaunch {
  int number = 0;  // in the order of the study, from 1
  int round = 0;   // which of the repeated launches, from 0
  /// The plan's entry, once in each round, which its rows name: "allreduce-n2", on several hosts
  /// "epoch-mlp-mirrored-strong-2x2"; of two [[epoch]] that share a name, ".2" follows the second.
  std::string name;
  std::string program;  // "bench_allreduce"
  int ranks = 1;
  int nodes = 1;     // hosts that the ranks are on
  int per_node = 1;  // ranks of each
  std::vector<std::string> arguments;
  // What is trained, as the config has it; empty where nothing is.
  std::string model, gradient_sync, scaling, allreduce;
  std::size_t study = 0;        // epoch launches: which of the config's epoch studies
  int share_of = 1;             // epoch launches: one rank does its share of what so many do
  std::string skipped_because;  // not empty: is not started, for this reason
  double guess_seconds = 0;     // what it is expected to take; 0: any time
  double most_seconds = 0;      // what its caps allow; 0: as expected
};

struct LaunchSettings {
  std::string launcher = "open_mpi";  // its Launcher::name
  std::string mpirun = "mpirun";      // its command
  std::string mpi = "Open MPI";       // what the programs are linked with
  Hosts hosts;                        // with slots, in order; empty: this host
  std::string device = "auto";        // as in the config
  int threads = 1;                    // of each rank
  std::filesystem::path programs;     // folder of the benchmark programs
  std::string run_id;
  bool oversubscribe = false;
  bool bind_to_core = true;
  std::vector<std::string> mpirun_arguments;
  Variables environment;  // added to this process's
};

/// Whether the environment of launches says that their rows are emulated.
bool says_emulated(const LaunchSettings& settings);

/// Of the rows of launches that are started so: "emulated" where ranks share cores, or hosts share
/// a machine, as their environment then says; else "measured".
std::string origin_of(const LaunchSettings& settings);

/// What a launch may take before it counts as stuck, by what it is expected to take and what its
/// caps allow; and when the launcher itself is to end it, should all else fail.
double deadline_seconds(const PlannedLaunch& launch);
int backstop_seconds(const PlannedLaunch& launch);

/// The words that start a launch's program with its own arguments: mpirun, its options, the
/// program, its options. Throws UsageError when there are too few hosts.
std::vector<std::string> started_by(const PlannedLaunch& launch, const LaunchSettings& settings);

/// Throws UsageError unless the first word of such a command is a program that is there.
void require_launcher(const std::vector<std::string>& command);

/// The same with what a study tells its programs: argv, ready to be typed.
std::vector<std::string> command_of(const PlannedLaunch& launch, const LaunchSettings& settings,
                                    const std::filesystem::path& out);

// Which MPI a text names, so that the launcher can be compared with the library. With two different
// ones every rank becomes a world of its own, and N of them look like perfect scaling.

struct MpiVersion {
  std::string family;   // "Open MPI", "MPICH", "Intel MPI"; empty: not recognized
  std::string version;  // "4.1.4"; may be empty

  std::string text() const;
};

/// Reads what `mpirun --version` prints or what MPI_Get_library_version says.
MpiVersion mpi_version_in(std::string_view text);

struct Launcher {
  std::string_view name;     // "open_mpi"
  std::string_view command;  // its usual name: "mpirun"
  std::string_view family;   // of the MPI that its programs are linked with; "any"
  /// The words before the program. `hosts`: where the ranks go, in their order, `per_node` on each;
  /// empty: left to the launcher.
  std::vector<std::string> (*words)(const PlannedLaunch& launch, const LaunchSettings& settings,
                                    const Hosts& hosts);
};

/// Throws UsageError with the valid names.
const Launcher& launcher_named(std::string_view name);
/// Which one prints this for --version; null: none of them.
const Launcher* launcher_that_says(std::string_view version);

/// The one that `command` is (empty: mpirun): as its --version says, else Slurm's by its name, as a
/// plan for an allocation needs no Slurm, else that of our own MPI, which `library` names as
/// MPI_Get_library_version does. Throws UsageError for the launcher of another MPI.
const Launcher& launcher_for(const std::string& command, const std::string& library);

/// Containers run as root, where Open MPI wants to be told twice.
void allow_root(Variables& environment);

/// Whether a launcher's arguments already say which hosts.
bool names_hosts(const std::vector<std::string>& arguments);

}  // namespace scalebench
