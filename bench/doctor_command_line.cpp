// SPDX-License-Identifier: Apache-2.0
#include "bench/doctor_command_line.hpp"

#include <fmt/format.h>

#include "bench/study/doctor.hpp"
#include "bench/study_setup.hpp"
#include "collectives/mpi_session.hpp"
#include "collectives/nccl_communicator.hpp"

namespace scalebench {

ExitCode show_doctor(const DoctorOptions& options) {
  DoctorInputs inputs;
  inputs.environment = capture_environment({.mpi = MpiSession::library_version(),
                                            .torch = SCALEBENCH_TORCH_VERSION,
                                            .nccl = nccl_version()});
  inputs.cores_asked = options.ranks;
  inputs.mpirun = options.mpirun;
  inputs.scripts = scripts_folder();
  inputs.dataset = "/usr/share/datasets/fashion-mnist";
  inputs.results = options.results;
  const auto findings = diagnose(inputs);
  fmt::print("{}", render(findings));
  return static_cast<ExitCode>(doctor_exit_code(findings));
}

}  // namespace scalebench
