// SPDX-License-Identifier: Apache-2.0
#include "bench/run_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <optional>

#include "bench/cli/size.hpp"
#include "bench/record/sha256.hpp"
#include "bench/record/utc_time.hpp"
#include "bench/scaling_table.hpp"
#include "bench/study/study_config.hpp"
#include "bench/study_run.hpp"
#include "collectives/allreduce.hpp"
#include "collectives/mpi_session.hpp"
#include "collectives/nccl_communicator.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::uintmax_t kBytesNeeded = 100'000'000;

/// The first Ctrl-C or SIGTERM asks for an orderly end; a second one ends at once.
class Interruption {
 public:
  Interruption() {
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      received_ = signal;
      stop_ = true;
    };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  }
  const std::atomic<bool>& stop() const { return stop_; }
  ExitCode exit_code() const {
    return received_ == SIGTERM ? ExitCode::terminated : ExitCode::interrupted;
  }

 private:
  // A signal handler can reach nothing else.
  static inline std::atomic<bool> stop_ = false;
  static inline std::atomic<int> received_ = 0;
};

std::filesystem::path executable_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

/// What the programs know, so that a config is refused before anything starts.
KnownNames known_names() {
  KnownNames known;
#define MODEL(name, ...) known.models.push_back(#name);
#include "models/models.def"
#undef MODEL
#define GRADIENT_SYNC(name, ...) known.gradient_syncs.push_back(#name);
#include "models/gradient_sync.def"
#undef GRADIENT_SYNC
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    known.algorithms.push_back(algorithm.name);
  }
  for (const DType dtype : kDTypes) known.dtypes.push_back(name_of(dtype));
  return known;
}

StudyConfig config_of(const RunOptions& options) {
  StudyConfig config = read_study_config(options.config, known_names());
  if (!options.ranks.empty()) config.ranks = options.ranks;
  if (options.launches > 0) config.launches = options.launches;
  if (!config.allreduce) return config;
  const std::string place = options.config.string() + ": [allreduce] ";
  const std::size_t min = parse_size(place + "min", config.allreduce->min_bytes);
  if (min > parse_size(place + "max", config.allreduce->max_bytes)) {
    fail<UsageError>("{}min {} is larger than max {}", place, config.allreduce->min_bytes,
                     config.allreduce->max_bytes);
  }
  return config;
}

int devices_of(const StudyConfig& config) {
  if (config.devices > 0) return static_cast<int>(config.devices);
  if (config.device != "cpu" && device_count() > 0) return device_count();
  if (config.device == "cuda") fail<UsageError>("device = \"cuda\": {}", why_no_device());
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return std::max(1, static_cast<int>(cores / config.threads));
}

LaunchSettings settings_of(const RunOptions& options, const StudyConfig& config, bool crowded) {
  LaunchSettings settings;
  settings.mpirun = options.mpirun;
  settings.programs = programs_folder();
  settings.oversubscribe = crowded;
  // A rank that drives a device needs more than one core for what LibTorch does beside it.
  settings.bind_to_core = config.threads == 1 && (config.device == "cpu" || device_count() == 0);
  settings.mpirun_arguments = config.mpirun_arguments;
  settings.environment = {{"OMP_NUM_THREADS", std::to_string(config.threads)}};
  if (geteuid() == 0) {
    // Containers run as root, where Open MPI wants to be told twice.
    settings.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT", "1");
    settings.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  }
  return settings;
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

Manifest manifest_of(const RunOptions& options, const StudyConfig& config,
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
  manifest.binaries = hashes_of_programs(plan);
  manifest.environment = capture_environment({.mpi = MpiSession::library_version(),
                                              .torch = SCALEBENCH_TORCH_VERSION,
                                              .nccl = nccl_version()});
  int most = 1;
  for (const PlannedLaunch& launch : plan) most = std::max(most, launch.ranks);
  manifest.warnings = warnings(manifest.environment, most * static_cast<int>(config.threads));
  return manifest;
}

void print_plan(const std::vector<PlannedLaunch>& plan, const LaunchSettings& settings,
                const Console& console) {
  double seconds = 0;
  for (const PlannedLaunch& launch : plan) {
    if (!launch.skipped_because.empty()) {
      console.result(fmt::format("# {} skipped: {}\n", launch.name, launch.skipped_because));
      continue;
    }
    seconds += launch.guess_seconds;
    const std::string folder = fmt::format("RUN/launches/{:03}-{}", launch.number, launch.name);
    console.result(shell_line(command_of(launch, settings, folder)) + "\n");
  }
  console.result(
      fmt::format("# {} launches, very roughly {}\n", plan.size(), show_duration(seconds)));
}

/// Runs a script of ours on the finished folder; a failure costs a picture, not the run.
void draw(const std::filesystem::path& folder, std::string_view script, Console& console) {
  const std::filesystem::path scripts = scripts_folder();
  const std::vector<std::string> command{(scripts / "python").string(), (scripts / script).string(),
                                         folder.string()};
  const std::atomic<bool> never = false;
  // Pictures are no part of what the manifest's hashes cover.
  const std::filesystem::path logs = folder / "figures" / script;
  std::filesystem::create_directories(logs);
  const LaunchEnd end = run_launch(command, {}, logs, 300, never);
  if (end.ok) {
    std::filesystem::remove_all(logs);
  } else {
    console.warn(fmt::format("{}: {}", script, end.why), (logs / "stderr.log").string());
  }
}

ExitCode exit_code_of(const StudyRun& study) {
  if (study.measured() == 0) return ExitCode::nothing_measured;
  return study.failed() > 0 ? ExitCode::incomplete : ExitCode::ok;
}

}  // namespace

std::filesystem::path programs_folder() {
  const std::filesystem::path folder = executable_folder();
  // Commands are meant to be typed again, elsewhere too: below the current folder they say so.
  const std::filesystem::path here = std::filesystem::proximate(folder);
  return here.string().starts_with("..") ? folder : here;
}

std::filesystem::path scripts_folder() {
  for (const char* candidate : {"../share/scalebench/scripts", "../../../scripts"}) {
    const std::filesystem::path folder = executable_folder() / candidate;
    if (std::filesystem::exists(folder / "plot.py")) return folder.lexically_normal();
  }
  return "scripts";
}

ExitCode run_study(const RunOptions& options) {
  const StudyConfig config = config_of(options);
  const int devices = devices_of(config);
  const std::vector<PlannedLaunch> plan = plan_of(config, {devices, options.oversubscribe});
  const bool crowded = std::ranges::any_of(
      plan, [&](const PlannedLaunch& launch) { return launch.ranks > devices; });
  LaunchSettings settings = settings_of(options, config, crowded);
  Console console(/*speaks=*/true, options.quiet);
  if (options.dry_run) {
    print_plan(plan, settings, console);
    return ExitCode::ok;
  }
  hashes_of_programs(plan);  // refuses before a folder is made
  const ResultsFolder folder =
      options.out.empty() ? ResultsFolder::create(options.results, config.name, kBytesNeeded)
                          : ResultsFolder::at(options.out, kBytesNeeded);
  settings.run_id = folder.run_id();
  Manifest manifest = manifest_of(options, config, plan, settings.run_id, crowded);
  for (const Warning& warning : manifest.warnings) console.warn(warning.text, warning.remedy);

  const Interruption interruption;
  StudyRun study(folder, plan, settings, std::move(manifest), console);
  study.measure(interruption.stop());
  study.summarise();
  study.seal(interruption.stop() ? "partial" : "complete");
  console.result(scaling_table(study.scaling()));
  draw(folder.path(), "plot.py", console);
  draw(folder.path(), "report.py", console);
  console.note(fmt::format("results: {}", folder.path().string()));
  if (interruption.stop()) {
    console.warn("partial: interrupted; everything that was measured is kept");
    return interruption.exit_code();
  }
  return exit_code_of(study);
}

}  // namespace scalebench
