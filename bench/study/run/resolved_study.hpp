// SPDX-License-Identifier: Apache-2.0
// What a study comes to here: the command line, the config file, the environment and this machine,
// put together once, before anything starts. Verbs that measure, or show a plan, work on this
// value.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/launch/launcher.hpp"
#include "bench/machine/managed_job.hpp"
#include "bench/study/plan/config.hpp"
#include "bench/study/plan/plan.hpp"
#include "bench/study/run/setup.hpp"

namespace scalebench {

/// What is to happen once the launches are over.
struct EndOptions {
  bool figures = true;
  bool metrics = false;        // also lines for a regular expression
  bool accept_failed = false;  // a run with failed launches may be complete
  bool fail_on_host = false;   // a host that is named at the end makes the exit code 1
};

/// What the command line says of every start of launches.
struct StartOptions {
  std::filesystem::path results = "results";  // new folders go here
  std::string out;                            // this new folder instead
  bool oversubscribe = false;
  bool dry_run = false;
  bool quiet = false;
  EndOptions end;
  std::string hosts;                 // a list or a hostfile; empty: as config and environment say
  std::string mpirun;                // the launcher's command; empty: the usual one of our MPI
  std::vector<std::string> command;  // argv as typed
  std::optional<JobFolders> job;     // of the managed job in which `run` was started
};

/// Which study: a config file and what the command line changes in it.
struct StudyChoice : StartOptions {
  std::filesystem::path config;
  std::string ranks;            // instead of the config's
  std::string layouts;          // instead of the config's
  std::optional<int> launches;  // instead of the config's
};

/// The options of commands that measure a study: where its runs go, and what starts them.
void add_run_options(CLI::App& command, StartOptions& options);
/// The part of them that a single launch has, too.
void add_launcher_options(CLI::App& command, StartOptions& options);

struct ResolvedStudy {
  StartOptions options;
  StudyConfig config;  // effective: with what the command line and the job say
  PlanLimits limits;
  std::vector<PlannedLaunch> plan;
  Build build;         // whose programs are started
  std::string pair{};  // of two runs that are measured in turns, the same word; else empty
  std::map<std::string, std::string> binaries{};  // SHA-256 of each program; none for a dry run
  LaunchSettings settings{};                      // of a run that is called kPlannedRun
};

/// The study of a config file. Starts nothing but the launcher, for its version. Throws UsageError
/// for all that is wrong with the choice, the file or the hosts, when a program is not built
/// (unless for a dry run), and for the launcher of another MPI.
ResolvedStudy resolve(StudyChoice choice, Build build = own_build());

/// Of parts that say something else than `config_of` and `plan_of` would.
ResolvedStudy resolve(StartOptions options, StudyConfig config, PlanLimits limits,
                      std::vector<PlannedLaunch> plan, Build build = own_build());

/// --dry-run: the exact commands and an estimate, to stdout.
void print_plan(const ResolvedStudy& study, const Console& console);

// The steps of `resolve`, for verbs that make one of them themselves.

/// The config with what the command line and the job say. Throws UsageError, in one line for each
/// thing wrong, before anything starts.
StudyConfig config_of(StudyChoice& choice);

/// GPUs here that the study may use; 0: it runs on the CPU.
int gpus_of(const StudyConfig& config);

/// Ranks that fit on this host: GPUs where those are used, else cores divided by the threads of a
/// rank. Throws UsageError for GPUs without any.
int devices_of(const StudyConfig& config);

/// The hosts and what fits on all of them together, as described_cluster() has them; slots that are
/// not said: what this host has. None: this host, without a word about it.
PlanLimits limits_of(const StartOptions& options, const StudyConfig& config,
                     const EnvironmentVariables& variables = environment_variables(::environ));

}  // namespace scalebench
