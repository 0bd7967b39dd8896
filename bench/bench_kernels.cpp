// SPDX-License-Identifier: Apache-2.0
// bench_kernels: what one core and one device can do, kernel by kernel: the ceiling under which the
// collectives and the training steps are read.
// parse -> register the cases of the memories asked for -> Google Benchmark runs -> rows.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/cli/help.hpp"
#include "bench/cli/stderr.hpp"
#include "bench/cli/words.hpp"
#include "bench/kernels/report.hpp"
#include "bench/machine/device_choice.hpp"
#include "bench/program/devices.hpp"
#include "bench/program/program.hpp"
#include "kernels/device.hpp"
#include "kernels/error.hpp"
#include "kernels/gemm.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 2> kFormats{"table", "csv"};

struct KernelOptions {
  KernelReportOptions report;
  DeviceOptions devices;            // of which one process takes one
  std::vector<std::string> google;  // what begins with --benchmark_, and our defaults before it
  std::string text;                 // to print instead of measuring
};

/// Throws UsageError for an option of Google Benchmark after which no row could be made.
void require_repetitions(std::string_view argument) {
  if (argument.find("_aggregates_only") != std::string_view::npos) {
    fail<UsageError>("{}: a row holds the statistics of all repetitions already; leave it out",
                     argument);
  }
  constexpr std::string_view kRepetitions = "--benchmark_repetitions=";
  if (!argument.starts_with(kRepetitions)) return;
  if (read_number<int>(argument.substr(kRepetitions.size())).value_or(1) < 1) {
    fail<UsageError>("{}: must be positive", argument);
  }
}

KernelOptions parse(int argc, char** argv) {
  KernelOptions options;
  CLI::App app("What one core and one device can do, kernel by kernel", "bench_kernels");
  app.add_option("--out", options.report.record.out,
                 "also write kernels.csv and samples.csv into this new folder")
      ->type_name("DIR");
  add_choice(app, "--device", options.devices.device, kDevices,
             "auto (cpu, and cuda where there is one), cpu or cuda");
  app.add_option("--devices", options.devices.named,
                 "which device, by its number or UUID; default: the first");
  add_choice(app, "--format", options.report.format, kFormats,
             "of the result on stdout: table or csv");
  add_study_words(app, options.report.record);
  add_version_option(app);
  app.footer(
      "Options of Google Benchmark pass through, for instance\n"
      "  --benchmark_filter=REGEX         'add/(half|float)/' or '64 MiB/host'\n"
      "  --benchmark_list_tests           print the names of the cases and stop\n"
      "  --benchmark_repetitions=N        samples of each case (30)\n"
      "  --benchmark_min_time=SECONDS     of one repetition (0.015)\n");
  add_examples(
      app, {"", "--device cpu --benchmark_filter='gemm'", "--format csv --out results/kernels"});
  std::vector<const char*> ours{argv[0]};
  // Fewer have no interval, where neighbours resemble each other.
  options.google = {argv[0], "--benchmark_repetitions=30", "--benchmark_min_time=0.015"};
  for (const char* argument : std::span(argv + 1, argv + argc)) {
    if (std::string_view(argument).starts_with("--benchmark_")) {
      require_repetitions(argument);
      options.google.emplace_back(argument);
    } else {
      ours.push_back(argument);
    }
  }
  if (!parse_command_line(app, static_cast<int>(ours.size()), ours.data(), options.text)) {
    return options;
  }
  check_device_options(options.devices);
  if (parse_devices(options.devices.named).size() > 1) {
    fail<UsageError>("--devices {}: one process measures one device", options.devices.named);
  }
  return options;
}

/// Hands Google Benchmark its options; throws UsageError for one that is not its own either.
void initialize_google(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  if (count > 1) fail<UsageError>("unknown option '{}'; see bench_kernels --help", pointers[1]);
}

KernelEntries register_cases(const DeviceOptions& devices, KernelTimer& timer) {
  std::vector<Memory> memories;
  if (devices.device != "cuda") memories.push_back(Memory::host);
  if (devices.required() || (devices.device == "auto" && device_count() > 0)) {
    memories.push_back(Memory::device);
  }
  KernelEntries entries;
  for (const Memory memory : memories) {
    for (const KernelCase& one : kernel_cases(memory)) {
      const std::string name = one.name();
      // Nodes of a map stay where they are, also when the map is moved.
      KernelEntry& entry = entries.emplace(name, KernelEntry{one, {}}).first->second;
      const auto body = [&entry, &timer](benchmark::State& state) {
        timer.time(state, entry.one, entry.status);
      };
      benchmark::RegisterBenchmark(name.c_str(), body)->UseManualTime();
    }
  }
  return entries;
}

/// Selects the device, where there is one and the options want it.
void choose_device(KernelOptions& options) {
  if (options.devices.device == "cpu" || device_count() == 0) return;
  DeviceView view{"this one", {}};
  for (int i = 0; i < device_count(); ++i) view.uuids.push_back(device_uuid(i));
  const DevicePlacement placement =
      place_ranks({view}, parse_devices(options.devices.named), false);
  const int chosen = placement.index.front();
  select_device(chosen);
  options.report.device = device_name(chosen);
  options.report.device_uuid = device_uuid(chosen);
}

ExitCode run(KernelOptions options) {
  if (!options.text.empty()) {
    fmt::print("{}", options.text);
    flush_result();
    return ExitCode::ok;
  }
  initialize_google(options.google);
  if (!set_gemm_threads(1)) {
    print_line("warning: gemm may use several threads (link OpenBLAS to be sure of one)");
  }
  choose_device(options);
  KernelTimer timer;
  const ExitCode code = run_kernels(options.report, register_cases(options.devices, timer));
  flush_result();
  return code;
}

}  // namespace
}  // namespace scalebench

int main(int argc, char** argv) {
  return scalebench::guarded("bench_kernels",
                             [=] { return scalebench::run(scalebench::parse(argc, argv)); });
}
