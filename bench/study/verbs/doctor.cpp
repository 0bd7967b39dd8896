// SPDX-License-Identifier: Apache-2.0
// scalebench doctor: looks before anything is measured. Exit: nothing_measured when nothing could
// be.
#include "bench/launch/doctor.hpp"

#include <optional>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/record/json_members.hpp"
#include "bench/record/manifest.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

struct DoctorOptions {
  std::filesystem::path results = "results";
  std::string mpirun = "mpirun";
  std::optional<int> ranks;
  bool as_json = false;
};

/// What this program was built from and with; null: not in the build, or not known.
nlohmann::json build_document(const Facts& treatment) {
  nlohmann::json build = build_info();
  for (const char* const library : {"mpi", "cuda", "nccl", "torch"}) {
    build[library] = nullable(text_of(treatment, library).value_or(""));
  }
  return build;
}

std::string doctor_document(const DoctorInputs& inputs, const std::vector<Finding>& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"level", word_of(finding.level)},
                    {"what", finding.subject},
                    {"text", finding.text},
                    {"remedy", nullable(finding.remedy)}});
  }
  return document({{"exit_code", doctor_exit_code(findings)},
                   {"build", build_document(inputs.environment.treatment)},
                   {"findings", std::move(list)}});
}

ExitCode show_doctor(const DoctorOptions& options) {
  if (options.ranks && *options.ranks < 1) {
    fail<UsageError>("--ranks {}: must be at least 1", *options.ranks);
  }
  DoctorInputs inputs = doctor_inputs(options.mpirun, options.results);
  inputs.cores_asked = options.ranks.value_or(0);
  const auto findings = diagnose(inputs);
  const Console console(/*speaks=*/true, /*quiet=*/true);
  console.result(options.as_json ? doctor_document(inputs, findings) : render(findings));
  return static_cast<ExitCode>(doctor_exit_code(findings));
}

}  // namespace

void add_doctor(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<DoctorOptions>(verb, invocation, show_doctor);
  add_shown(verb, "--results", options.results, "where runs would go")->type_name("DIR");
  add_shown(verb, "--mpirun", options.mpirun, "launcher")->type_name("FILE");
  verb.add_option("--ranks", options.ranks, "ranks on this host that will be asked for");
  add_format_option(verb, options.as_json);
}

}  // namespace scalebench
