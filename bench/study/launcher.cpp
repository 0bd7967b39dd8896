// SPDX-License-Identifier: Apache-2.0
#include "bench/study/launcher.hpp"

#include <algorithm>
#include <array>

#include "bench/study/doctor_mpi_version.hpp"
#include "kernels/error.hpp"
#include "kernels/unknown_name.hpp"

namespace scalebench {

#define LAUNCHER(name, ...) \
  std::vector<std::string> name##_words(const PlannedLaunch&, const LaunchSettings&, const Hosts&);
#include "bench/study/launcher.def"
#undef LAUNCHER

std::span<const Launcher> launchers() {
#define LAUNCHER(name, command, family, what) Launcher{#name, command, family, what, name##_words},
  static const std::array kLaunchers{
#include "bench/study/launcher.def"
  };
#undef LAUNCHER
  return kLaunchers;
}

const Launcher& launcher_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Launcher& launcher : launchers()) {
    if (launcher.name == name) return launcher;
    names.push_back(launcher.name);
  }
  fail<UsageError>("--launcher: {}", unknown_name("launcher", name, names));
}

const Launcher* launcher_that_says(std::string_view version) {
  if (version.starts_with("slurm ")) return &launcher_named("slurm");
  const std::string family = mpi_version_in(version).family;
  if (family == "Intel MPI") return &launcher_named("mpich");  // its mpiexec is Hydra too
  for (const Launcher& launcher : launchers()) {
    if (launcher.family == family) return &launcher;
  }
  return nullptr;
}

bool names_hosts(const std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 12> kOptions{
      "--host",        "-host",        "-H",     "--hostfile", "-hostfile",  "--hostlist",
      "--machinefile", "-machinefile", "-hosts", "-f",         "--nodelist", "--default-hostfile"};
  return std::ranges::find_first_of(arguments, kOptions) != arguments.end();
}

std::vector<std::pair<std::string, std::string>> variables_for_ranks(
    const LaunchSettings& settings) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& variable : settings.environment) {
    if (!variable.first.starts_with("OMPI_")) variables.push_back(variable);
  }
  return variables;
}

}  // namespace scalebench
