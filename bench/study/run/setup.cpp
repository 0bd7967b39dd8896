// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/setup.hpp"

#include "bench/machine/digest.hpp"
#include "collectives/mpi_session.hpp"
#include "collectives/transport/nccl.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

std::filesystem::path executable_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

/// Commands are meant to be typed again, elsewhere too: below the current folder they say so.
std::filesystem::path as_typed_here(const std::filesystem::path& folder) {
  const std::filesystem::path here = std::filesystem::proximate(folder);
  return here.string().starts_with("..") ? folder : here;
}

}  // namespace

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

}  // namespace scalebench
