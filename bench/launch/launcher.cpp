// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/launcher.hpp"

#include <fmt/format.h>
#include <re2/re2.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "bench/launch/process.hpp"
#include "bench/machine/environment.hpp"
#include "kernels/error.hpp"

namespace scalebench {

std::string MpiVersion::text() const {
  if (family.empty()) return "an unknown MPI";
  return version.empty() ? family : family + " " + version;
}

MpiVersion mpi_version_in(std::string_view text) {
  static const RE2 kNamed(R"((?s)(Open MPI|OpenRTE|Intel\(R\) MPI|MPICH|HYDRA))"
                          R"((?:.*?(\d+(?:\.\d+)+))?)",
                          RE2::Latin1);
  std::string name, version;
  if (!RE2::PartialMatch(std::string(text), kNamed, &name, &version)) return {};
  if (name == "OpenRTE") name = "Open MPI";
  if (name == "HYDRA") name = "MPICH";  // its launcher
  if (name == "Intel(R) MPI") name = "Intel MPI";
  return {name, version};
}

void allow_root(Variables& environment) {
  if (::geteuid() != 0) return;
  environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT", "1");
  environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
}

bool names_hosts(const std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 12> kOptions{
      "--host",        "-host",        "-H",     "--hostfile", "-hostfile",  "--hostlist",
      "--machinefile", "-machinefile", "-hosts", "-f",         "--nodelist", "--default-hostfile"};
  return std::ranges::find_first_of(arguments, kOptions) != arguments.end();
}

namespace {

using Words = std::vector<std::string>;

void add(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

/// What ranks on other hosts need too: all of the settings' variables but the launcher's own.
Variables variables_for_ranks(const LaunchSettings& settings) {
  Variables variables = settings.environment;
  std::erase_if(variables, [](const auto& one) { return one.first.starts_with("OMPI_"); });
  return variables;
}

bool binds(const LaunchSettings& settings) {
  return settings.bind_to_core && !settings.oversubscribe;
}

/// "h1,h2".
std::string without_slots(Hosts hosts) {
  for (Host& host : hosts) host.slots = 0;
  return host_words(hosts);
}

// MPICH's mpiexec (Hydra). It has no option for a longest time: run_launch ends it, and ranks of a
// lost proxy end with it.

Words mpich_words(const PlannedLaunch& launch, const LaunchSettings& settings, const Hosts& hosts) {
  Words words{settings.mpirun, "-n", std::to_string(launch.ranks)};
  if (!hosts.empty()) {
    add(words, {"-hosts", without_slots(hosts), "-ppn", std::to_string(launch.per_node)});
  }
  add(words, {"-bind-to", binds(settings) ? "core" : "none"});
  for (const auto& [name, value] : variables_for_ranks(settings)) {
    add(words, {"-genv", name, value});
  }
  return words;
}

// Open MPI's mpirun. Several hosts: blocks of ranks by -H and ppr, a cut link noticed within
// seconds by keepalive probes (without them a launch hangs for ever, whatever the program does),
// and --timeout should even mpirun itself not notice.

Words open_mpi_words(const PlannedLaunch& launch, const LaunchSettings& settings,
                     const Hosts& hosts) {
  Words words{settings.mpirun, "-np", std::to_string(launch.ranks)};
  if (!hosts.empty()) {
    Hosts slots = hosts;
    for (Host& host : slots) host.slots = launch.per_node;
    add(words, {"-H", host_words(slots), "--map-by", fmt::format("ppr:{}:node", launch.per_node)});
  }
  if (settings.oversubscribe) words.emplace_back("--oversubscribe");
  add(words, {"--bind-to", binds(settings) ? "core" : "none"});
  // Without yielding, ranks that share a core wait for each other in whole time slices.
  if (settings.oversubscribe) add(words, {"--mca", "mpi_yield_when_idle", "1"});
  if (!hosts.empty()) {
    for (const auto& [name, value] : variables_for_ranks(settings)) add(words, {"-x", name});
  }
  if (hosts.size() > 1) {
    // A link that is cut is noticed within five seconds; without these mpirun hangs for ever.
    add(words, {"--mca", "oob_tcp_keepalive_time", "2", "--mca", "oob_tcp_keepalive_intvl", "1",
                "--mca", "oob_tcp_keepalive_probes", "3"});
    if (std::max(launch.guess_seconds, launch.most_seconds) > 0) {
      add(words, {"--timeout", std::to_string(backstop_seconds(launch))});
    }
  }
  return words;
}

// Slurm's srun, inside an allocation. -K1: without it a step whose rank was killed waits for ever.
// srun hands all variables on by itself.

Words slurm_words(const PlannedLaunch& launch, const LaunchSettings& settings, const Hosts& hosts) {
  const int nodes = hosts.empty() ? 1 : launch.nodes;
  const int per_node = hosts.empty() ? launch.ranks : launch.per_node;
  Words words{settings.mpirun, settings.mpi == "MPICH" ? "--mpi=pmi2" : "--mpi=pmix", "-K1"};
  add(words, {"-N", std::to_string(nodes), "-n", std::to_string(launch.ranks)});
  add(words, {fmt::format("--ntasks-per-node={}", per_node), "--distribution=block"});
  if (!hosts.empty()) words.push_back(fmt::format("--nodelist={}", without_slots(hosts)));
  if (settings.oversubscribe) words.emplace_back("--overcommit");
  words.push_back(fmt::format("--cpu-bind={}", binds(settings) ? "cores" : "none"));
  const int minutes = (backstop_seconds(launch) + 59) / 60;
  words.push_back(fmt::format("--time={}", minutes));
  return words;
}

/// The launchers that there are, each with a function above.
constexpr std::array<Launcher, 3> kLaunchers{{{"open_mpi", "mpirun", "Open MPI", &open_mpi_words},
                                              {"mpich", "mpiexec", "MPICH", &mpich_words},
                                              {"slurm", "srun", "any", &slurm_words}}};

/// The one that starts programs of this MPI; null: nobody knows it.
const Launcher* launcher_of(const std::string& family) {
  const std::string own = family == "Intel MPI" ? "MPICH" : family;  // its mpiexec is Hydra too
  const auto found = std::ranges::find(kLaunchers, own, &Launcher::family);
  return found == kLaunchers.end() ? nullptr : &*found;
}

}  // namespace

const Launcher& launcher_named(std::string_view name) {
  return row_named(kLaunchers, &Launcher::name, "launcher", name);
}

const Launcher* launcher_that_says(std::string_view version) {
  return version.starts_with("slurm ") ? &launcher_named("slurm")
                                       : launcher_of(mpi_version_in(version).family);
}

const Launcher& launcher_for(const std::string& command, const std::string& library) {
  constexpr int kPatienceSeconds = 10;
  const std::string asked = command.empty() ? "mpirun" : command;
  const Launcher* const own = launcher_of(mpi_version_in(library).family);
  const Launcher* launcher = launcher_that_says(ask({asked, "--version"}, kPatienceSeconds).output);
  if (launcher == nullptr && std::filesystem::path(asked).filename() == "srun") {
    launcher = &launcher_named("slurm");
  }
  if (launcher == nullptr) launcher = own != nullptr ? own : &kLaunchers.front();
  if (launcher->family == "any" || own == nullptr || launcher == own) return *launcher;
  fail<UsageError>(
      "{} starts programs of {}, and these are linked with {}: every rank would be alone; name the "
      "launcher of that MPI with --mpirun, or put it first on the PATH",
      command.empty() ? launcher->command : command, launcher->family, library);
}

bool says_emulated(const LaunchSettings& settings) {
  return std::ranges::any_of(settings.environment, [](const auto& variable) {
    return variable.first == kEmulatedVariable;
  });
}

std::string origin_of(const LaunchSettings& settings) {
  return settings.oversubscribe || says_emulated(settings) ? "emulated" : "measured";
}

double deadline_seconds(const PlannedLaunch& launch) {
  return std::max(60.0, 5 * std::max(launch.guess_seconds, launch.most_seconds));
}

int backstop_seconds(const PlannedLaunch& launch) {
  return static_cast<int>(deadline_seconds(launch) + 30);
}

std::vector<std::string> started_by(const PlannedLaunch& launch, const LaunchSettings& settings) {
  Hosts hosts = settings.hosts;
  if (!hosts.empty()) {
    hosts = hosts_of({launch.nodes, launch.per_node}, hosts, settings.oversubscribe);
  }
  std::vector<std::string> command =
      launcher_named(settings.launcher).words(launch, settings, hosts);
  command.insert(command.end(), settings.mpirun_arguments.begin(), settings.mpirun_arguments.end());
  command.push_back((settings.programs / launch.program).string());
  command.insert(command.end(), launch.arguments.begin(), launch.arguments.end());
  return command;
}

void require_launcher(const std::vector<std::string>& command) {
  if (find_program(command.front())) return;
  fail<UsageError>(
      "no {} on the PATH, which starts the ranks: install an MPI (scripts/setup), "
      "or name it with --mpirun",
      command.front());
}

std::vector<std::string> command_of(const PlannedLaunch& launch, const LaunchSettings& settings,
                                    const std::filesystem::path& out) {
  std::vector<std::string> command = started_by(launch, settings);
  command.insert(command.end(),
                 {"--quiet", "--out", out.string(), "--run-id", settings.run_id, "--launch",
                  std::to_string(launch.number), "--round", std::to_string(launch.round)});
  return command;
}

}  // namespace scalebench
