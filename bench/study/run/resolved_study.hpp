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

/// What the command line says of every start of launches.
struct StartOptions {
  std::filesystem::path results = "results";  // new folders go here
  std::string out;                            // this new folder instead
  bool oversubscribe = false;
  bool dry_run = false;
  bool quiet = false;
  bool figures = true;
  bool fail_on_host = false;         // where the verb has --fail-on
  std::string hosts;                 // a list or a hostfile; empty: as config and environment say
  std::string mpirun;                // the launcher's command; empty: the usual one of our MPI
  std::vector<std::string> command;  // argv as typed
  const CLI::Option* results_option = nullptr;  // whether --results was given
  std::optional<ManagedJob> job;                // by enter_job
};

/// Which study: a config file and what the command line changes in it.
struct StudyChoice : StartOptions {
  std::filesystem::path config;
  std::string ranks;            // instead of the config's
  std::string layouts;          // instead of the config's
  std::optional<int> launches;  // instead of the config's
  bool metrics = false;
};

void add_study_options(CLI::App& verb, StudyChoice& choice);
/// The options that all commands have which start launches.
void add_start_options(CLI::App& command, StartOptions& options);
/// Of those that draw.
void add_figures_option(CLI::App& command, StartOptions& options);
/// Parts of them: without where the run goes, and less.
void add_run_options(CLI::App& command, StartOptions& options);
void add_launcher_options(CLI::App& command, StartOptions& options);
const CLI::Option* add_results_option(CLI::App& command, StartOptions& options);

/// A study inside a managed job: reads the job's variables of this process into `options`, below
/// what the command line says. A default that is not used is dropped, so that what remains is what
/// came from the job. Throws UsageError for variables that cannot be understood.
void enter_job(StartOptions& options);

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
