// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/study_setup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <utility>

#include "bench/record/file.hpp"
#include "bench/record/sha256.hpp"
#include "bench/record/utc_time.hpp"
#include "bench/study/config_text.hpp"
#include "bench/study/plan_file.hpp"
#include "bench/verbs/job_setup.hpp"
#include "collectives/mpi_session.hpp"
#include "collectives/nccl_communicator.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::uintmax_t kBytesNeeded = 100'000'000;

std::filesystem::path executable_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

/// Commands are meant to be typed again, elsewhere too: below the current folder they say so.
std::filesystem::path as_typed_here(const std::filesystem::path& folder) {
  const std::filesystem::path here = std::filesystem::proximate(folder);
  return here.string().starts_with("..") ? folder : here;
}

Manifest manifest_of(const StartOptions& options, const StudyConfig& config,
                     const std::vector<PlannedLaunch>& plan, const std::string& run_id,
                     bool crowded) {
  Manifest manifest;
  manifest.run_id = run_id;
  manifest.study = config.name;
  manifest.origin = crowded ? "emulated" : "measured";
  manifest.started_utc = utc_label();
  manifest.command = options.command;
  manifest.seed = config.seed;
  manifest.config = config.text;
  manifest.tool = build_info();
  if (options.job) manifest.job = json_of(*options.job);
  manifest.binaries = hashes_of_programs(plan);
  manifest.environment = environment_here();
  int most = 1;
  for (const PlannedLaunch& launch : plan) most = std::max(most, launch.ranks);
  manifest.warnings = warnings(manifest.environment, most * static_cast<int>(config.threads));
  return manifest;
}

bool is_crowded(const StartOptions& options, const StudyConfig& config,
                const std::vector<PlannedLaunch>& plan) {
  const int devices = limits_of(options, config).devices;
  return std::ranges::any_of(plan,
                             [&](const PlannedLaunch& launch) { return launch.ranks > devices; });
}

/// The files that say what the run is to be, and whose hashes the manifest keeps.
void write_inputs(const std::filesystem::path& folder, const StudyConfig& config,
                  const StoredPlan& plan, Manifest& manifest) {
  for (const auto& [name, text] :
       {std::pair("config.toml", config_text(config)), std::pair(kPlanFile, plan_text(plan))}) {
    write_file_atomically(folder / name, text);
    manifest.inputs[name] = sha256_of(text);
  }
}

}  // namespace

std::map<std::string, std::string> hashes_of_programs(const std::vector<PlannedLaunch>& plan) {
  std::map<std::string, std::string> hashes;
  for (const PlannedLaunch& launch : plan) {
    const std::filesystem::path program = programs_folder() / launch.program;
    if (!std::filesystem::exists(program)) {
      fail<UsageError>(
          "{} is not built (LibTorch missing?); leave its part out of the config, or see "
          "scalebench doctor",
          launch.program);
    }
    if (!hashes.contains(launch.program)) hashes[launch.program] = sha256_of_file(program);
  }
  return hashes;
}

Environment environment_here() {
  return capture_environment({.mpi = MpiSession::library_version(),
                              .torch = SCALEBENCH_TORCH_VERSION,
                              .nccl = nccl_version()});
}

void add_start_options(CLI::App& command, StartOptions& options) {
  options.results_option = add_results_option(command, options);
  command.add_option("--out", options.out, "the run's new folder itself")->type_name("DIR");
  add_launcher_options(command, options);
  command.add_flag("--dry-run", options.dry_run,
                   "print the exact commands and an estimate, and stop");
  command.add_flag("-q,--quiet", options.quiet, "no progress");
  command.add_flag("!--no-figures", options.figures, "no figures, no report.html");
  add_color_option(command, options.color);
}

const CLI::Option* add_results_option(CLI::App& command, StartOptions& options) {
  return command.add_option("--results", options.results, "where the run's new folder goes")
      ->capture_default_str()
      ->type_name("DIR");
}

void add_launcher_options(CLI::App& command, StartOptions& options) {
  command.add_option("--mpirun", options.mpirun, "launcher")
      ->capture_default_str()
      ->type_name("FILE");
  command.add_flag("--oversubscribe", options.oversubscribe,
                   "allow more ranks than cores or devices; every row is then emulated");
}

std::filesystem::path programs_folder() { return as_typed_here(executable_folder()); }

std::filesystem::path scripts_folder() {
  for (const char* candidate : {"../share/scalebench/scripts", "../../../scripts"}) {
    const std::filesystem::path folder = executable_folder() / candidate;
    if (std::filesystem::exists(folder / "plot.py")) return folder.lexically_normal();
  }
  return "scripts";
}

std::filesystem::path configs_folder() {
  for (const char* candidate : {"../share/scalebench/configs", "../../../configs"}) {
    const std::filesystem::path folder = executable_folder() / candidate;
    if (std::filesystem::exists(folder / "quick.toml")) {
      return as_typed_here(folder.lexically_normal());
    }
  }
  return "configs";
}

int devices_of(const StudyConfig& config) {
  if (config.devices > 0) return static_cast<int>(config.devices);
  if (config.device != "cpu" && device_count() > 0) return device_count();
  if (config.device == "cuda") fail<UsageError>("device = \"cuda\": {}", why_no_device());
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return std::max(1, static_cast<int>(cores / config.threads));
}

PlanLimits limits_of(const StartOptions& options, const StudyConfig& config) {
  const bool several = options.job && options.job->hosts.size() > 1 && config.devices == 0;
  const int devices =
      several ? static_cast<int>(options.job->hosts.size()) * slots_of(*options.job, config)
              : devices_of(config);
  return {devices, options.oversubscribe};
}

LaunchSettings settings_of(const StartOptions& options, const StudyConfig& config,
                           const std::vector<PlannedLaunch>& plan) {
  LaunchSettings settings;
  settings.mpirun = options.mpirun;
  settings.programs = programs_folder();
  settings.oversubscribe = is_crowded(options, config, plan);
  // A rank that drives a device needs more than one core for what LibTorch does beside it.
  settings.bind_to_core = config.threads == 1 && (config.device == "cpu" || device_count() == 0);
  settings.mpirun_arguments = config.mpirun_arguments;
  if (options.job) {
    const std::vector<std::string> hosts = host_arguments(*options.job, config);
    settings.mpirun_arguments.insert(settings.mpirun_arguments.end(), hosts.begin(), hosts.end());
  }
  settings.environment = {{"OMP_NUM_THREADS", std::to_string(config.threads)}};
  if (geteuid() == 0) {
    // Containers run as root, where Open MPI wants to be told twice.
    settings.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT", "1");
    settings.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  }
  return settings;
}

std::filesystem::path planned_folder(const PlannedLaunch& launch) {
  return fmt::format("{}/launches/{:03}-{}", kPlannedRun, launch.number, launch.name);
}

void print_plan(const StartOptions& options, const StudyConfig& config,
                const std::vector<PlannedLaunch>& plan, const Console& console) {
  LaunchSettings settings = settings_of(options, config, plan);
  settings.run_id = kPlannedRun;
  double seconds = 0;
  for (const PlannedLaunch& launch : plan) {
    if (!launch.skipped_because.empty()) {
      console.result(fmt::format("# {} skipped: {}\n", launch.name, launch.skipped_because));
      continue;
    }
    seconds += launch.guess_seconds;
    console.result(shell_line(command_of(launch, settings, planned_folder(launch))) + "\n");
  }
  console.result(
      fmt::format("# {} launches, very roughly {}\n", plan.size(), show_duration(seconds)));
}

StudyRun open_study(const StartOptions& options, const StudyConfig& config,
                    const std::vector<PlannedLaunch>& plan, Console& console) {
  hashes_of_programs(plan);  // refuses before a folder is made
  const ResultsFolder folder =
      options.out.empty() ? ResultsFolder::create(options.results, config.name, kBytesNeeded)
                          : ResultsFolder::at(options.out, kBytesNeeded);
  FolderLock lock(folder.path());
  LaunchSettings settings = settings_of(options, config, plan);
  settings.run_id = folder.run_id();
  Manifest manifest = manifest_of(options, config, plan, settings.run_id, settings.oversubscribe);
  if (options.job) console.note(describe(*options.job));
  for (const Warning& warning : manifest.warnings) console.warn(warning.text, warning.remedy);
  write_inputs(folder.path(), config, {plan, settings}, manifest);
  write_manifest(folder.path(), manifest);
  const bool indexed = options.out.empty();
  return {folder, std::move(lock), plan, settings, std::move(manifest), indexed, console};
}

}  // namespace scalebench
