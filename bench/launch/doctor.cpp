// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/doctor.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "bench/launch/launcher.hpp"
#include "bench/launch/process.hpp"
#include "bench/launch/side_by_side.hpp"
#include "bench/machine/environment.hpp"
#include "bench/record/results_folder.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

/// One line without control characters: other programs' words end up in a terminal.
std::string first_line(std::string_view text) {
  std::string line(text.substr(0, text.find('\n')));
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return line;
}

Finding check_build(const Facts& treatment) {
  const auto word = [&](const char* name) { return text_of(treatment, name).value_or("unknown"); };
  return {Finding::ok, "build",
          fmt::format("scalebench {} of {}, {}, {} {}", word("version"), build_info().name(),
                      word("compiler"), word("build_type"), word("flags"))};
}

Finding check_mpirun(const DoctorInputs& inputs) {
  constexpr const char* kInstall =
      "install the Open MPI that this was built with (Debian: openmpi-bin), or add it to the PATH";
  const std::optional<fs::path> file = find_program(inputs.mpirun);
  if (!file) {
    return {Finding::missing, "mpirun", fmt::format("no '{}' on the PATH", inputs.mpirun),
            kInstall};
  }
  const CommandAnswer answer = ask({file->string(), "--version"}, 20);
  if (!answer.answered) {
    return {Finding::missing, "mpirun",
            fmt::format("{} does not run: {}", file->string(), first_line(answer.output)),
            kInstall};
  }
  const MpiVersion launcher = mpi_version_in(answer.output);
  const MpiVersion library =
      mpi_version_in(text_of(inputs.environment.treatment, "mpi").value_or(""));
  Finding found{Finding::ok, "mpirun", fmt::format("{} is {}", file->string(), launcher.text())};
  if (library.family.empty() || launcher.family.empty()) {
    found.text += "; whether it fits the library is not known";
  } else if (library.text() == launcher.text()) {
    found.text += ", as the library is";
  } else {
    const bool other = library.family != launcher.family;
    found.level = other ? Finding::missing : Finding::warning;
    found.text += fmt::format(", the programs use {}{}", library.text(),
                              other ? ": each rank would run alone" : "");
    found.remedy = kInstall;
  }
  return found;
}

Finding check_cores(const Environment& environment) {
  const auto usable = number_of(environment.observation, "usable_cores");
  const auto cores = number_of(environment.key, "cores");
  if (!usable || !cores) return {Finding::warning, "cores", "hwloc cannot tell"};
  return {
      Finding::ok, "cores",
      fmt::format("{} of {} may be used ({} hardware threads: {}), {} socket(s)", *usable, *cores,
                  number_of(environment.observation, "usable_hardware_threads").value_or(*usable),
                  text_of(environment.observation, "allowed_cpus").value_or("which is unknown"),
                  number_of(environment.key, "sockets").value_or(1))};
}

Finding check_python(const fs::path& scripts) {
  constexpr const char* kQuestion = "import jinja2, matplotlib; print(matplotlib.__version__)";
  const std::string python = (scripts / "python").string();  // as figures are drawn
  const CommandAnswer answer = ask({python, "-c", kQuestion}, 60);
  if (answer.answered) {
    return {Finding::ok, "python",
            fmt::format("{} has matplotlib {}", python, first_line(answer.output))};
  }
  return {Finding::warning, "python", "no Python with matplotlib and Jinja2: no figures or reports",
          "install them (Debian: python3-matplotlib python3-jinja2)"};
}

Finding check_results(const DoctorInputs& inputs) {
  std::error_code error;
  fs::path folder = fs::absolute(inputs.results, error).lexically_normal();
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  try {
    require_room(folder, inputs.results_bytes);
  } catch (const Error& refusal) {
    return {Finding::missing, "results", first_line(refusal.what()),
            "make it writable, free some space, or choose another folder with --out"};
  }
  const double free = static_cast<double>(fs::space(folder, error).available) / 1e9;
  return {Finding::ok, "results",
          fmt::format("'{}' is writable, {:.1f} GB free", inputs.results.string(), free)};
}

/// Which description of a cluster a study would take, what it says, and who starts the ranks.
Finding check_cluster(const EnvironmentVariables& variables) {
  try {
    const ClusterDescription cluster = described_cluster("", "", variables);
    std::string said = cluster.source.empty()
                           ? "no variable describes one: this host alone, or --hosts"
                           : fmt::format("{}: {}", cluster.source, host_words(cluster.hosts));
    if (const auto place = process_place(variables)) said += fmt::format("; {}", part_of(*place));
    return {Finding::ok, "cluster", said};
  } catch (const UsageError& refusal) {
    return {Finding::missing, "cluster", first_line(refusal.what()),
            "unset or mend these variables; scalebench run --hosts goes before those of hosts"};
  }
}

/// A library that a smaller build does without.
Finding check_library(const Facts& treatment, const char* fact, const char* subject,
                      std::string_view cost, const char* remedy) {
  const auto version = text_of(treatment, fact);
  if (version) return {Finding::ok, subject, first_line(*version)};
  return {Finding::warning, subject, fmt::format("not in this build: {}", cost), remedy};
}

Finding check_devices(const Facts& key) {
  const std::vector<std::string> cards = texts_in(key, "gpus");
  if (!cards.empty()) {
    return {Finding::ok, "GPUs", fmt::format("{}: {}", cards.size(), fmt::join(cards, ", "))};
  }
  const auto found = key.find("gpus");
  const std::string why = found == key.end() ? "not looked for" : found->second.absent_because;
  return {Finding::warning, "GPUs", fmt::format("none ({}): CPU cases only", first_line(why)),
          "to measure GPUs, use a machine with an NVIDIA driver and a build with CUDA"};
}

}  // namespace

std::vector<Finding> diagnose(const DoctorInputs& inputs) {
  const Environment& environment = inputs.environment;
  const Facts& treatment = environment.treatment;
  std::vector<Finding> findings{
      check_build(treatment),
      check_mpirun(inputs),
      check_cluster(inputs.variables),
      check_results(inputs),
      check_cores(environment),
      check_devices(environment.key),
      check_library(treatment, "cuda", "CUDA", "no device kernels, no nccl transport",
                    "install the CUDA toolkit and NCCL, then configure again"),
      check_library(treatment, "nccl", "NCCL", "no nccl transport",
                    "install NCCL (Debian: libnccl-dev), then configure again"),
      check_library(treatment, "torch", "LibTorch", "no bench_throughput, no bench_epoch",
                    "install LibTorch (Debian: libtorch-dev), then configure again"),
      check_python(inputs.scripts)};
  for (Warning& warning : warnings(environment, inputs.cores_asked)) {
    findings.push_back(
        {Finding::warning, "numbers", std::move(warning.text), std::move(warning.remedy)});
  }
  return findings;
}

std::string_view word_of(Finding::Level level) {
  constexpr std::array<std::string_view, 3> kWords{"ok", "warning", "missing"};
  return kWords.at(level);
}

std::string render(const std::vector<Finding>& findings) {
  std::array<int, 3> counts{};
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.subject.size());
  std::string table;
  for (const Finding& finding : findings) {
    ++counts.at(finding.level);
    fmt::format_to(std::back_inserter(table), "{:<9}{:<{}}  {}\n", word_of(finding.level),
                   finding.subject, width, first_line(finding.text));
    if (!finding.remedy.empty()) {
      fmt::format_to(std::back_inserter(table), "{:<{}}-> {}\n", "", 11 + width,
                     first_line(finding.remedy));
    }
  }
  fmt::format_to(std::back_inserter(table), "\n{} ok, {} warning(s), {} missing: {}\n",
                 counts[Finding::ok], counts[Finding::warning], counts[Finding::missing],
                 counts[Finding::missing] > 0 ? "nothing can be measured" : "ready to measure");
  return table;
}

int doctor_exit_code(const std::vector<Finding>& findings) {
  constexpr int kNothingCanBeMeasured = 4;
  const auto missing = std::ranges::find(findings, Finding::missing, &Finding::level);
  return missing == findings.end() ? 0 : kNothingCanBeMeasured;
}

}  // namespace scalebench
