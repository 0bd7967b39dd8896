// SPDX-License-Identifier: Apache-2.0
// scalebench: run a study over 1..N ranks, certify how well differences are told from noise, or
// look at the machine first.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "bench/certify_command.hpp"
#include "bench/cli/command_line.hpp"
#include "bench/doctor_command_line.hpp"
#include "bench/record/build_info.hpp"
#include "bench/run_command.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

ExitCode run(int argc, char** argv) {
  CLI::App app("How far from H/N are N devices, and where did the rest go?", "scalebench");
  app.set_version_flag("--version", build_info().version);
  app.require_subcommand(1);

  RunOptions options;
  options.command.assign(argv, argv + argc);
  std::string ranks;
  CLI::App& study = *app.add_subcommand("run", "measure a study on 1..N ranks against H/N");
  study.add_option("config", options.config, "TOML file, as configs/quick.toml")->required();
  study.add_option("--ranks", ranks, "numbers of ranks, as 1,2,4, instead of the config's");
  study.add_option("--launches", options.launches, "fresh launches of each case");
  add_start_options(study, options);

  CertifyOptions against_itself;
  against_itself.command = options.command;
  const CLI::App& twice = describe_certify(app, against_itself);

  DoctorOptions doctor;
  CLI::App& look =
      *app.add_subcommand("doctor", "what is here, what is missing, what spoils numbers");
  look.add_option("--results", doctor.results, "where runs would go")->capture_default_str();
  look.add_option("--mpirun", doctor.mpirun, "launcher")->capture_default_str();
  look.add_option("--ranks", doctor.ranks, "ranks on this host that will be asked for");

  // CLI11 gives what follows -- to no subcommand.
  char** const end = std::find(argv, argv + argc, std::string_view("--"));
  if (end != argv + argc) against_itself.more.assign(end + 1, argv + argc);
  std::string text;
  if (!parse_command_line(app, static_cast<int>(end - argv), argv, text)) {
    fmt::print("{}", text);
    return ExitCode::ok;
  }
  if (!twice.parsed() && end != argv + argc)
    fail<UsageError>("--: only certify takes more options");
  if (look.parsed()) return show_doctor(doctor);
  if (twice.parsed()) return certify(against_itself);
  if (options.launches < 0)
    fail<UsageError>("--launches {}: must not be negative", options.launches);
  if (!ranks.empty()) options.ranks = parse_counts("--ranks", ranks);
  return run_study(options);
}

}  // namespace
}  // namespace scalebench

int main(int argc, char** argv) {
  using scalebench::ExitCode;
  ExitCode code = ExitCode::internal;
  try {
    code = scalebench::run(argc, argv);
  } catch (const scalebench::UsageError& error) {
    fmt::print(stderr, "{}\n", error.what());
    code = ExitCode::usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "scalebench: {}\n", error.what());
  }
  return static_cast<int>(code);
}
