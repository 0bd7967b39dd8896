// SPDX-License-Identifier: Apache-2.0
// scalebench allreduce|throughput|epoch|kernels [-np N] [-- OPTIONS]: one benchmark by itself, with
// the launcher, hosts and binding that a study's launches have. It becomes that launcher, so that
// streams, signals and exit code are the launcher's.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "bench/cli/console.hpp"
#include "bench/launch/host_survey.hpp"
#include "bench/launch/launcher.hpp"
#include "bench/launch/process.hpp"
#include "bench/study/plan/layouts.hpp"
#include "bench/study/run/resolved_study.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

struct DoorOptions : StartOptions {
  int ranks = 0;                  // 0: one for each core or device
  std::vector<std::string> more;  // for the benchmark, as typed after --
};

/// What the benchmark is told that the launcher has to know.
StudyConfig config_of(const DoorOptions& options, const std::string& name) {
  StudyConfig config;
  config.name = name;
  const std::string device = argument_of(options.more, "--device");
  if (!device.empty()) config.device = device;
  config.devices = argument_of(options.more, "--devices");
  config.share_devices = std::ranges::count(options.more, "--share-devices") > 0;
  config.threads = read_number<int>(argument_of(options.more, "--threads")).value_or(1);
  if (config.threads < 1) config.threads = 1;  // which the benchmark refuses
  return config;
}

PlannedLaunch launch_of(const DoorOptions& options, const std::string& program,
                        const PlanLimits& limits) {
  constexpr double kWithoutEnd = 7 * 86400;  // its own watchdog notices a rank that hangs
  PlannedLaunch launch;
  launch.number = 1;
  launch.name = launch.program = program;
  launch.ranks = options.ranks > 0 ? options.ranks : limits.devices;
  const Layout layout = layout_of(launch.ranks, limits.all_hosts(), options.oversubscribe);
  launch.nodes = layout.nodes;
  launch.per_node = layout.per_node;
  launch.arguments = options.more;
  launch.most_seconds = kWithoutEnd;
  return launch;
}

std::vector<std::string> command_of(const PlannedLaunch& launch, const LaunchSettings& settings) {
  if (launch.program != "bench_kernels") return started_by(launch, settings);
  std::vector<std::string> command{(settings.programs / launch.program).string()};
  command.insert(command.end(), launch.arguments.begin(), launch.arguments.end());
  return command;
}

ExitCode open_door(const std::string& program, DoorOptions options) {
  const bool alone = program == "bench_kernels";
  if (alone) options.ranks = 1;
  if (options.ranks < 0) fail<UsageError>("-np {}: must be at least 1", options.ranks);
  StudyConfig config = config_of(options, program);
  PlanLimits limits = limits_of(options, config);
  const EnvironmentVariables variables = environment_variables(::environ);
  const auto place = alone ? std::nullopt : process_place(variables);
  const bool counts = place && options.hosts.empty() && options.ranks == 0;
  if (counts && !limits.hosts.empty()) {
    const int each = limits.hosts.front().slots;
    if (!std::ranges::all_of(limits.hosts, [&](const Host& one) { return one.slots == each; })) {
      fail<UsageError>("{}: {}: not as many ranks on each host; valid: the same number on all",
                       place->source, host_words(limits.hosts));
    }
    // A platform has started that many processes: their ranks may have to share cores.
    if (each > devices_of(config)) options.oversubscribe = true;
  }
  const PlannedLaunch launch = launch_of(options, program, limits);
  ResolvedStudy study = resolve(std::move(options), std::move(config), std::move(limits), {launch});
  const LaunchSettings& settings = study.settings;
  const std::vector<std::string> command = command_of(launch, settings);
  require_launcher(command);
  if (study.options.dry_run) {
    Console(/*speaks=*/true, /*quiet=*/true).result(shell_line(command) + "\n");
    return ExitCode::ok;
  }
  // What starts here alone needs no look beforehand.
  if (place && settings.hosts.size() < 2) study.binaries.clear();
  if (place) survey_hosts(settings, study.binaries, variables);
  become(command, settings.environment);
}

void add_door(CLI::App& verb, Invocation& invocation, const std::string& program) {
  const bool alone = program == "bench_kernels";
  auto& options = options_of<DoorOptions>(
      verb, invocation, [=](const DoorOptions& chosen) { return open_door(program, chosen); },
      alone ? nullptr : unless_dry_run<DoorOptions>);
  if (!alone) {
    // -np is a spelling of it, which the parser does not know.
    verb.add_option("-n,--np", options.ranks,
                    "how many ranks, also as -np N; 0: one for each core or device")
        ->capture_default_str();
    add_launcher_options(verb, options);
  }
  verb.add_flag("--dry-run", options.dry_run, "print the exact command, and stop");
  verb.footer(fmt::format("After -- come the options of {0}: {0} --help.", program));
}

}  // namespace

void add_allreduce(CLI::App& verb, Invocation& invocation) {
  add_door(verb, invocation, "bench_allreduce");
}
void add_throughput(CLI::App& verb, Invocation& invocation) {
  add_door(verb, invocation, "bench_throughput");
}
void add_epoch(CLI::App& verb, Invocation& invocation) {
  add_door(verb, invocation, "bench_epoch");
}
void add_kernels(CLI::App& verb, Invocation& invocation) {
  add_door(verb, invocation, "bench_kernels");
}

}  // namespace scalebench
