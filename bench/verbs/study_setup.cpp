// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/study_setup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "bench/cli/printable.hpp"
#include "bench/device_choice.hpp"
#include "bench/record/emulation.hpp"
#include "bench/record/file.hpp"
#include "bench/record/sha256.hpp"
#include "bench/record/utc_time.hpp"
#include "bench/study/config_text.hpp"
#include "bench/study/doctor_command.hpp"
#include "bench/study/doctor_mpi_version.hpp"
#include "bench/study/kept_rows.hpp"
#include "bench/study/launcher.hpp"
#include "bench/study/plan_file.hpp"
#include "bench/verbs/host_choice.hpp"
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
                     bool emulated) {
  Manifest manifest;
  manifest.run_id = run_id;
  manifest.study = config.name;
  manifest.origin = emulated ? "emulated" : "measured";
  manifest.started_utc = utc_label();
  manifest.command = options.command;
  manifest.seed = config.seed;
  manifest.config = config.text;
  manifest.tool = build_info();
  if (options.job) manifest.job = json_of(*options.job);
  manifest.binaries = hashes_of_programs(plan);
  manifest.environment = environment_here();
  int most = 1;
  for (const PlannedLaunch& launch : plan) {
    most = std::max(most, launch.nodes > 0 ? launch.per_node : launch.ranks);
  }
  manifest.warnings = warnings(manifest.environment, most * static_cast<int>(config.threads));
  return manifest;
}

bool is_crowded(const StartOptions& options, const StudyConfig& config,
                const std::vector<PlannedLaunch>& plan) {
  // What other hosts have is known once they were looked at; until then whoever asks is believed.
  const PlanLimits limits = limits_of(options, config);
  if (!limits.hosts.empty()) return options.oversubscribe;
  const int devices = limits.devices;
  return std::ranges::any_of(plan,
                             [&](const PlannedLaunch& launch) { return launch.ranks > devices; });
}

/// Which launcher it is: as said, else as its --version says, else the one of our own MPI.
const Launcher& launcher_of(const StartOptions& options, const std::string& mpi) {
  const std::string family = mpi == "Intel MPI" ? "MPICH" : mpi;  // its launcher is Hydra too
  const Launcher* launcher = options.launcher.empty() ? nullptr : &launcher_named(options.launcher);
  const std::string command = options.mpirun.empty() ? "mpirun" : options.mpirun;
  if (launcher == nullptr) {
    constexpr int kPatienceSeconds = 10;
    launcher = launcher_that_says(ask({command, "--version"}, kPatienceSeconds).output);
  }
  if (launcher == nullptr) {
    const auto own = std::ranges::find(launchers(), family, &Launcher::family);
    launcher = own == launchers().end() ? &launchers().front() : &*own;
  }
  if (launcher->family == "any" || family.empty() || launcher->family == family) return *launcher;
  fail<UsageError>(
      "{} starts programs of {}, and these are linked with {}: every rank would be alone; name the "
      "launcher of that MPI with --mpirun",
      options.mpirun.empty() ? launcher->command : command, launcher->family,
      MpiSession::library_version());
}

bool says_emulated(const LaunchSettings& settings) {
  return std::ranges::any_of(settings.environment, [](const auto& variable) {
    return variable.first == kEmulatedVariable;
  });
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

bool is_emulated(const LaunchSettings& settings) {
  return settings.oversubscribe || says_emulated(settings);
}

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

DoctorInputs doctor_inputs(const std::string& mpirun, const std::filesystem::path& results) {
  DoctorInputs inputs;
  inputs.environment = environment_here();
  inputs.mpirun = mpirun;
  inputs.scripts = scripts_folder();
  inputs.dataset = "/usr/share/datasets/fashion-mnist";
  inputs.results = results;
  return inputs;
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
  command
      .add_option("--hosts", options.hosts,
                  "hosts with slots, as h1:4,h2:4, or a hostfile; also [study] hosts, "
                  "SCALEBENCH_HOSTS, or the job's allocation")
      ->type_name("LIST|FILE");
  std::string names;
  for (const Launcher& launcher : launchers()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", launcher.name);
  }
  command
      .add_option("--launcher", options.launcher,
                  "what starts the ranks: " + names + "; default: what --mpirun says it is")
      ->type_name("NAME");
  command.add_option("--mpirun", options.mpirun, "the launcher's command, if not its usual one")
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

int gpus_of(const StudyConfig& config) {
  const auto named = static_cast<int>(parse_devices(config.gpus).size());
  if (config.device == "cpu" || device_count() == 0) return 0;
  return named > 0 ? named : device_count();
}

bool shares_gpus(const StudyConfig& config, int ranks_of_a_host) {
  return config.share_devices && gpus_of(config) > 0 && ranks_of_a_host > gpus_of(config);
}

int devices_of(const StudyConfig& config) {
  if (config.devices > 0) return static_cast<int>(config.devices);
  const int gpus = gpus_of(config);
  if (gpus > 0 && !config.share_devices) return gpus;
  if (gpus == 0 && config.device == "cuda") {
    fail<UsageError>("device = \"cuda\": {}", why_no_device());
  }
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return std::max({1, gpus, static_cast<int>(cores / config.threads)});
}

PlanLimits limits_of(const StartOptions& options, const StudyConfig& config) {
  const Hosts hosts = hosts_of(options, config);
  int slots = 0;
  for (const Host& host : hosts) slots += host.slots;
  return {hosts.empty() ? devices_of(config) : slots, options.oversubscribe, hosts};
}

LaunchSettings settings_of(const StartOptions& options, const StudyConfig& config,
                           const std::vector<PlannedLaunch>& plan) {
  LaunchSettings settings;
  settings.mpi = mpi_version_in(MpiSession::library_version()).family;
  const Launcher& launcher = launcher_of(options, settings.mpi);
  settings.launcher = launcher.name;
  settings.mpirun = options.mpirun.empty() ? std::string(launcher.command) : options.mpirun;
  settings.hosts = hosts_of(options, config);
  settings.device = config.device;
  settings.threads = static_cast<int>(config.threads);
  settings.programs = programs_folder();
  settings.oversubscribe = is_crowded(options, config, plan);
  // A rank that drives a device needs more than one core for what LibTorch does beside it, and
  // emulated hosts have the same cores.
  settings.bind_to_core =
      config.threads == 1 && declared_emulation().empty() && gpus_of(config) == 0;
  settings.mpirun_arguments = config.mpirun_arguments;
  settings.environment = {{"OMP_NUM_THREADS", std::to_string(config.threads)}};
  if (const std::string emulated = declared_emulation(); !emulated.empty()) {
    settings.environment.emplace_back(kEmulatedVariable, emulated);
  } else if (std::ranges::any_of(plan, [&](const PlannedLaunch& launch) {
               return shares_gpus(config, launch.nodes > 0 ? launch.per_node : launch.ranks);
             })) {
    // All of the study, also what one rank does: only rows of one origin may form a ratio.
    settings.environment.emplace_back(kEmulatedVariable, "ranks that share a GPU");
  }
  if (geteuid() == 0) {
    // Containers run as root, where Open MPI wants to be told twice.
    settings.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT", "1");
    settings.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  }
  return settings;
}

void add_survey(LaunchSettings& settings, const HostSurvey& survey,
                const std::vector<PlannedLaunch>& plan, Console& console) {
  for (const SurveyedHost& host : survey.hosts) {
    if (host.usable()) {
      settings.host_names[host.host.name] = survey.name_of(host.host.name);
    } else {
      console.warn(printable(host.note), "launches on as many hosts as are left go on");
    }
  }
  settings.hosts = survey.usable();
  if (settings.hosts.empty()) {
    fail<UsageError>("no host is left: {}", printable(survey.hosts.front().note));
  }
  require_devices(survey, plan, settings);
  const std::string machine = survey.one_machine();
  if (machine.empty() || says_emulated(settings)) return;
  console.warn(machine, "their rows are emulated");
  settings.environment.emplace_back(kEmulatedVariable, machine);
  settings.bind_to_core = false;  // each of them would begin with the machine's first core
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
  const auto binaries = hashes_of_programs(plan);  // refuses before a folder is made
  LaunchSettings settings = settings_of(options, config, plan);
  LaunchSettings usable = settings;
  HostSurvey survey;
  if (!settings.hosts.empty()) {
    survey = survey_hosts(settings, binaries);
    add_survey(usable, survey, plan, console);
  }
  const ResultsFolder folder =
      options.out.empty() ? ResultsFolder::create(options.results, config.name, kBytesNeeded)
                          : ResultsFolder::at(options.out, kBytesNeeded);
  FolderLock lock(folder.path());
  settings.run_id = usable.run_id = folder.run_id();
  Manifest manifest = manifest_of(options, config, plan, settings.run_id, is_emulated(usable));
  if (options.job) console.note(describe(*options.job));
  for (const Warning& warning : manifest.warnings) console.warn(warning.text, warning.remedy);
  write_inputs(folder.path(), config, {plan, settings}, manifest);
  write_manifest(folder.path(), manifest);
  const std::vector<ResultRow> hosts = host_rows(survey, folder.run_id(), manifest.origin);
  if (!hosts.empty()) replace_rows(folder.path(), hosts_schema(), hosts);
  const bool indexed = options.out.empty();
  return {folder, std::move(lock), plan, usable, std::move(manifest), indexed, console};
}

}  // namespace scalebench
