// SPDX-License-Identifier: Apache-2.0
// What every command that starts launches does first: how many devices there are, how the launcher
// is called, and a new results folder with its manifest. Shared by `run` and `certify`.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/cli/app.hpp"
#include "bench/cli/console.hpp"
#include "bench/record/environment.hpp"
#include "bench/record/managed_job.hpp"
#include "bench/study/doctor.hpp"
#include "bench/study/host_survey.hpp"
#include "bench/study/plan.hpp"
#include "bench/verbs/study_run.hpp"

namespace scalebench {

struct StartOptions {
  std::filesystem::path results = "results";  // new folders go here
  std::string out;                            // this new folder instead
  bool oversubscribe = false;
  bool dry_run = false;
  bool quiet = false;
  bool figures = true;
  Color color = Color::automatic;
  std::string hosts;                 // a list or a hostfile; empty: as config and environment say
  std::string launcher;              // of launcher.def; empty: what `mpirun` says it is
  std::string mpirun;                // empty: the launcher's usual command
  std::vector<std::string> command;  // argv as typed
  const CLI::Option* results_option = nullptr;  // whether --results was given
  std::optional<ManagedJob> job;                // by enter_job
};

/// The options that all such commands have.
void add_start_options(CLI::App& command, StartOptions& options);
/// Parts of them.
void add_launcher_options(CLI::App& command, StartOptions& options);
const CLI::Option* add_results_option(CLI::App& command, StartOptions& options);

/// Folders that belong to this program, wherever it was built or unpacked.
std::filesystem::path programs_folder();
std::filesystem::path scripts_folder();
std::filesystem::path configs_folder();

/// Ranks that fit on this host: GPUs where those are used, else cores. Throws UsageError for GPUs
/// without any. The limits are those of all hosts together.
int devices_of(const StudyConfig& config);

/// GPUs here that the study may use; 0: it runs on the CPU.
int gpus_of(const StudyConfig& config);

/// Whether so many ranks of a host are to share GPUs, as the study allows.
bool shares_gpus(const StudyConfig& config, int ranks_of_a_host);
PlanLimits limits_of(const StartOptions& options, const StudyConfig& config);

/// How the launches of this plan are started.
LaunchSettings settings_of(const StartOptions& options, const StudyConfig& config,
                           const std::vector<PlannedLaunch>& plan);

/// Rows of these launches are emulated: ranks share cores, or hosts share a machine.
bool is_emulated(const LaunchSettings& settings);

/// Makes the hosts of `settings` those that the survey found usable, with what they call
/// themselves, and warns of the others. Throws UsageError when ranks would share cores there.
void add_survey(LaunchSettings& settings, const HostSurvey& survey,
                const std::vector<PlannedLaunch>& plan, Console& console);

/// Names in a plan that only a run can have: of the run, and of the folder of a launch.
inline constexpr const char* kPlannedRun = "RUN";
std::filesystem::path planned_folder(const PlannedLaunch& launch);

/// --dry-run: the exact commands and an estimate, to stdout.
void print_plan(const StartOptions& options, const StudyConfig& config,
                const std::vector<PlannedLaunch>& plan, const Console& console);

/// SHA-256 of each program of the plan. Throws UsageError when one is not built.
std::map<std::string, std::string> hashes_of_programs(const std::vector<PlannedLaunch>& plan);
/// Of this machine, with what this program is linked with.
Environment environment_here();
/// What the doctor is to look at here.
DoctorInputs doctor_inputs(const std::string& mpirun, const std::filesystem::path& results);

/// Makes the folder with its config.toml, plan.json and manifest and passes on the warnings. Throws
/// UsageError, before there is a folder, when a program is not built or the folder cannot hold a
/// run.
StudyRun open_study(const StartOptions& options, const StudyConfig& config,
                    const std::vector<PlannedLaunch>& plan, Console& console);

}  // namespace scalebench
