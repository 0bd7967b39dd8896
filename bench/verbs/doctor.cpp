// SPDX-License-Identifier: Apache-2.0
// scalebench doctor: looks before anything is measured. Exit: nothing_measured when nothing could
// be.
#include "bench/study/doctor.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "bench/verbs/study_setup.hpp"
#include "bench/verbs/verb.hpp"
#include "collectives/mpi_session.hpp"
#include "collectives/nccl_communicator.hpp"

namespace scalebench {
namespace {

struct DoctorOptions {
  std::filesystem::path results = "results";
  std::string mpirun = "mpirun";
  int ranks = 0;
};

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

}  // namespace

void add_doctor(CLI::App& verb, Invocation& invocation) {
  const auto options = std::make_shared<DoctorOptions>();
  verb.add_option("--results", options->results, "where runs would go")->capture_default_str();
  verb.add_option("--mpirun", options->mpirun, "launcher")->capture_default_str();
  verb.add_option("--ranks", options->ranks, "ranks on this host that will be asked for");
  verb.callback(
      [options, &invocation] { invocation.chosen = [options] { return show_doctor(*options); }; });
}

}  // namespace scalebench
