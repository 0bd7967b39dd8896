// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/resolved_study.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "bench/cli/console.hpp"
#include "bench/cli/help.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/cli/stderr.hpp"
#include "bench/launch/doctor.hpp"
#include "bench/launch/launcher.hpp"
#include "bench/machine/device_choice.hpp"
#include "bench/machine/host_files.hpp"
#include "bench/record/file.hpp"
#include "bench/study/plan/layouts.hpp"
#include "bench/study/plan/named.hpp"
#include "bench/study/run/setup.hpp"
#include "collectives/mpi_session.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {

// What can be typed.

void add_run_options(CLI::App& command, StartOptions& options) {
  command.add_option("--results", options.results, "where the run's new folder goes")
      ->capture_default_str()
      ->type_name("DIR");
  add_launcher_options(command, options);
  command.add_flag("--dry-run", options.dry_run,
                   "print the exact commands and an estimate, and stop");
  command.add_flag("-q,--quiet", options.quiet, "no progress");
}

void add_launcher_options(CLI::App& command, StartOptions& options) {
  command
      .add_option(
          "--hosts", options.hosts,
          "hosts with slots, as h1:4,h2:4 or n[1-2]:4, or a hostfile; also [study] hosts, or "
          "the job's allocation")
      ->type_name("LIST|FILE");
  const Heading parallelism(command, kParallelism);
  command
      .add_option("--mpirun", options.mpirun,
                  "what starts the ranks, if not mpirun: mpiexec, srun, or the path of one")
      ->type_name("FILE");
  command.add_flag("--oversubscribe", options.oversubscribe,
                   "allow more ranks than cores or devices; every row is then emulated");
}

// What is measured.

namespace {

bool uses(const StudyConfig& config, const std::string& data) {
  const auto is_it = [&](const auto& study) { return study.data == data; };
  return (config.throughput && is_it(*config.throughput)) ||
         std::ranges::any_of(config.epochs, is_it);
}

}  // namespace

StudyConfig config_of(StudyChoice& choice) {
  if (choice.launches && (*choice.launches < 1 || *choice.launches > kMostLaunches)) {
    fail<UsageError>("--launches {}: valid: 1 to {}", *choice.launches, kMostLaunches);
  }
  Whereabouts here{.looks_here = true, .on_cpus = device_count() == 0};
  if (choice.job && !choice.job->data.empty()) here.data = choice.job->data;
  if (!described_cluster(choice.hosts, "", environment_variables(::environ)).hosts.empty()) {
    here.looks_here = here.on_cpus = false;
  }
  choice.config = config_named(choice.config);
  const std::string text = read_file(choice.config);
  StudyConfig config = parse_study_config(text, choice.config, here);
  if (here.looks_here && uses(config, "fashion-mnist") &&
      !why_not_installed("fashion-mnist").empty()) {
    const bool had_synthetic = uses(config, "synthetic");
    here.data = "synthetic";
    config = parse_study_config(text, choice.config, here);
    if (!had_synthetic && uses(config, here.data)) {
      print_line(
          "warning: fashion-mnist is not installed: what names no data trains on synthetic "
          "images (Debian: dataset-fashion-mnist)");
    }
  }
  if (choice.job && !uses(config, here.data)) choice.job->data.clear();
  if (!choice.ranks.empty() && !choice.layouts.empty()) {
    fail<UsageError>("--ranks and --layouts: one says what the other does; give one of them");
  }
  if (!choice.ranks.empty()) {
    config.ranks = parse_counts("--ranks", choice.ranks);
    config.layouts.clear();
  }
  if (!choice.layouts.empty()) {
    config.layouts = parse_layouts(choice.layouts);
    config.ranks.clear();
  }
  if (!choice.hosts.empty()) config.hosts = choice.hosts;
  if (choice.launches) config.launches = *choice.launches;
  return config;
}

// Where.

int gpus_of(const StudyConfig& config) {
  const auto named = static_cast<int>(parse_devices(config.devices).size());
  if (config.device == "cpu" || device_count() == 0) return 0;
  return named > 0 ? named : device_count();
}

int devices_of(const StudyConfig& config) {
  const int gpus = gpus_of(config);
  if (gpus > 0 && !config.share_devices) return gpus;
  if (gpus == 0 && config.device == "cuda") {
    fail<UsageError>("device = \"cuda\": {}", why_no_device());
  }
  const auto cores = static_cast<std::int64_t>(usable_cores().size());
  return std::max({1, gpus, static_cast<int>(cores / config.threads)});
}

/// Whether a rank has more threads than this host has cores for it.
bool threads_share_cores(const StudyConfig& config) {
  return gpus_of(config) == 0 && config.threads > std::ssize(usable_cores());
}

PlanLimits limits_of(const StartOptions& options, const StudyConfig& config,
                     const EnvironmentVariables& variables) {
  const ClusterDescription cluster = described_cluster(options.hosts, config.hosts, variables);
  const bool takes_cores = cluster.slots_are_gpus && config.device == "cpu";
  PlanLimits limits{.devices = 0, .oversubscribe = options.oversubscribe, .hosts = cluster.hosts};
  for (Host& host : limits.hosts) {
    if (host.slots == 0 || takes_cores) host.slots = devices_of(config);
    limits.devices += host.slots;
  }
  if (!limits.hosts.empty()) return limits;
  limits.devices = devices_of(config);
  limits.looks_here = true;
  if (gpus_of(config) > 0) return limits;
  limits.why_no_gpu = why_no_device();
  if (threads_share_cores(config) && !options.oversubscribe) {
    fail<UsageError>(
        "threads {}: this process may use {} cores; use fewer, or --oversubscribe, which marks "
        "every row emulated",
        config.threads, usable_cores().size());
  }
  return limits;
}

// How it is started.

namespace {

bool is_crowded(const ResolvedStudy& study) {
  // What other hosts have is known once they were looked at; until then whoever asks is believed.
  if (!study.limits.hosts.empty()) return study.options.oversubscribe;
  return std::ranges::any_of(
      study.plan, [&](const PlannedLaunch& launch) { return launch.ranks > study.limits.devices; });
}

/// Whether more ranks of a host than it has GPUs are to share these, as the study allows.
bool shares_gpus(const ResolvedStudy& study) {
  const int gpus = gpus_of(study.config);
  return study.config.share_devices && gpus > 0 && most_ranks_of_a_host(study.plan) > gpus;
}

/// From all else that is resolved.
LaunchSettings settings_of(const ResolvedStudy& study) {
  const StartOptions& options = study.options;
  const StudyConfig& config = study.config;
  LaunchSettings settings;
  settings.run_id = kPlannedRun;
  settings.mpi = mpi_version_in(MpiSession::library_version()).family;
  const Launcher& launcher = launcher_for(options.mpirun, MpiSession::library_version());
  settings.launcher = launcher.name;
  settings.mpirun = options.mpirun.empty() ? std::string(launcher.command) : options.mpirun;
  settings.hosts = study.limits.hosts;
  settings.device = config.device;
  settings.threads = static_cast<int>(config.threads);
  settings.programs = study.build.programs;
  settings.oversubscribe = is_crowded(study);
  // A rank that drives a device needs more than one core for what LibTorch does beside it, and
  // emulated hosts have the same cores.
  settings.bind_to_core = config.threads == 1 && declared_emulation().empty() &&
                          config.device != "cuda" && gpus_of(config) == 0;
  settings.mpirun_arguments = config.mpirun_arguments;
  settings.environment = {{"OMP_NUM_THREADS", std::to_string(config.threads)}};
  if (const std::string emulated = declared_emulation(); !emulated.empty()) {
    settings.environment.emplace_back(kEmulatedVariable, emulated);
  } else if (shares_gpus(study)) {
    // All of the study, also what one rank does: only rows of one origin may form a ratio.
    settings.environment.emplace_back(kEmulatedVariable, "ranks that share a GPU");
  } else if (study.limits.hosts.empty() && threads_share_cores(config)) {
    settings.environment.emplace_back(kEmulatedVariable, "threads that share a core");
  }
  // Ranks on other hosts have no variables but those that they are given; Open MPI gives its own.
  for (const auto& [name, value] : recorded_variables(::environ)) {
    const bool of_rank = name == "CUDA_VISIBLE_DEVICES" || name == "OMP_NUM_THREADS";
    const bool given = of_rank || name.find("_MCA_") != std::string::npos;
    if (!settings.hosts.empty() && !given) settings.environment.emplace_back(name, value);
  }
  allow_root(settings.environment);
  return settings;
}

}  // namespace

ResolvedStudy resolve(StartOptions options, StudyConfig config, PlanLimits limits,
                      std::vector<PlannedLaunch> plan, Build build) {
  ResolvedStudy study{std::move(options), std::move(config), std::move(limits), std::move(plan),
                      std::move(build)};
  if (!study.options.dry_run) study.binaries = hashes_of_programs(study.plan, study.build.programs);
  study.settings = settings_of(study);
  return study;
}

ResolvedStudy resolve(StudyChoice choice, Build build) {
  StudyConfig config = config_of(choice);
  PlanLimits limits = limits_of(choice, config);
  std::vector<PlannedLaunch> plan = plan_of(config, limits);
  return resolve(std::move(choice), std::move(config), std::move(limits), std::move(plan),
                 std::move(build));
}

void print_plan(const ResolvedStudy& study, const Console& console) {
  double seconds = 0;
  std::size_t skipped = 0;
  std::string text;
  for (const PlannedLaunch& launch : study.plan) {
    if (!launch.skipped_because.empty()) {
      ++skipped;
      text += fmt::format("# {} skipped: {}\n", launch.name, launch.skipped_because);
      continue;
    }
    seconds += launch.guess_seconds;
    text += shell_line(command_of(launch, study.settings, planned_folder(launch))) + "\n";
  }
  std::string summary =
      fmt::format("# {}: {} launch{}, roughly {}", study.config.name, study.plan.size(),
                  study.plan.size() == 1 ? "" : "es", show_duration(seconds));
  if (skipped > 0) summary += fmt::format("; {} of them skipped", skipped);
  console.result(summary + "\n" + text);
}

}  // namespace scalebench
