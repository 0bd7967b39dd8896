// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/setup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/launch/process.hpp"
#include "bench/machine/digest.hpp"
#include "bench/record/file.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/plan/named.hpp"
#include "collectives/mpi_session.hpp"
#include "collectives/transport/nccl.hpp"
#include "kernels/error.hpp"
#include "kernels/json/parse_json.hpp"

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

/// The folder `name` that holds `file`, of an installation or of the sources; else below here.
std::filesystem::path folder_with(const std::string& name, const char* file) {
  for (const char* const above : {"../share/scalebench", "../../.."}) {
    const std::filesystem::path folder = executable_folder() / above / name;
    if (std::filesystem::exists(folder / file)) return folder.lexically_normal();
  }
  return name;
}

}  // namespace

std::filesystem::path programs_folder() { return as_typed_here(executable_folder()); }
std::filesystem::path scripts_folder() { return folder_with("scripts", "python"); }
std::filesystem::path configs_folder() {
  return as_typed_here(folder_with("configs", "quick.toml"));
}

std::string config_named(const std::string& name) {
  const std::filesystem::path known = configs_folder() / (name + ".toml");
  const bool is_name = name.find('/') == std::string::npos && !std::filesystem::exists(name);
  return is_name && std::filesystem::exists(known) ? known.string() : name;
}

Build own_build() { return {programs_folder(), build_info()}; }

Build build_in(const std::filesystem::path& folder) {
  constexpr int kPatienceSeconds = 60;
  const bool has_bin = std::filesystem::exists(folder / "bin" / "scalebench");
  Build build{has_bin ? folder / "bin" : folder, {}};
  const std::filesystem::path program = build.programs / "scalebench";
  if (!std::filesystem::exists(program)) {
    fail<UsageError>("{}: no scalebench here or in bin/; valid: a folder of built programs",
                     folder.string());
  }
  const CommandAnswer answer =
      ask({program.string(), "doctor", "--format", "json"}, kPatienceSeconds);
  const nlohmann::json said =
      json_or_null(std::string_view(answer.output)
                       .substr(std::min(answer.output.find('{'), answer.output.size())));
  if (!said.is_object() || !said.contains("build")) {
    fail<UsageError>("{} does not start here: {}", program.string(),
                     printable(answer.output.substr(0, answer.output.find('\n'))));
  }
  build.tool = said.at("build").get<BuildInfo>();
  return build;
}

std::map<std::string, std::string> hashes_of_programs(const std::vector<PlannedLaunch>& plan,
                                                      const std::filesystem::path& programs) {
  std::map<std::string, std::string> hashes;
  for (const PlannedLaunch& launch : plan) {
    const std::filesystem::path program = programs / launch.program;
    if (!std::filesystem::exists(program)) {
      fail<UsageError>(
          "{} is not built (LibTorch missing?); leave its part out of the config, or see "
          "scalebench doctor",
          program.string());
    }
    if (!hashes.contains(launch.program)) hashes[launch.program] = sha256_of_file(program);
  }
  return hashes;
}

Environment environment_here() {
  Environment environment = capture_environment({.mpi = MpiSession::library_version(),
                                                 .torch = SCALEBENCH_TORCH_VERSION,
                                                 .nccl = nccl_version()});
  // Of others: this program uses no card, and its ranks are not there yet.
  add_card_troubles(environment, Nvml());
  return environment;
}

DoctorInputs doctor_inputs(const std::string& mpirun, const std::filesystem::path& results) {
  DoctorInputs inputs;
  inputs.environment = environment_here();
  inputs.variables = environment_variables(::environ);
  inputs.mpirun = mpirun;
  inputs.scripts = scripts_folder();
  inputs.results = results;
  return inputs;
}

namespace {

/// The last line that says something; of a traceback the error.
std::string last_line(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \n") + 1);
  return printable(text.substr(text.find_last_of('\n') + 1));
}

}  // namespace

bool draw(const std::filesystem::path& folder, std::string_view what, Console& console,
          const std::vector<std::string>& more) {
  constexpr int kPatienceSeconds = 300;
  std::vector<std::string> command{(scripts_folder() / "python").string(), "-m", "scalebench",
                                   std::string(what), folder.string()};
  command.insert(command.end(), more.begin(), more.end());
  const CommandAnswer answer = ask(command, kPatienceSeconds);
  if (!answer.answered) {
    console.warn(fmt::format("{}: {}", what, last_line(answer.output)),
                 "what was measured is kept; once more: " + shell_line(command));
  }
  return answer.answered;
}

bool draw_run(const std::filesystem::path& folder, Console& console,
              const std::vector<std::string>& more) {
  draw(folder, "plot", console, more);
  return draw(folder, "report", console, more);
}

bool draw_comparison(const std::filesystem::path& folder, Console& console) {
  const nlohmann::json found = json_or_null(read_file(folder / "compare.json"));
  if (found.is_object() && !found.value("costs", nlohmann::json::array()).empty()) {
    draw(folder, "plot", console);
  }
  return draw(folder, "report", console);
}

}  // namespace scalebench
