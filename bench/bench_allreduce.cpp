// SPDX-License-Identifier: Apache-2.0
// mpirun -np N bench_allreduce: allreduce algorithms and transports side by side in one launch.
// parse -> transports -> plan -> for each case: check, time, write the row.
#include <fmt/format.h>

#include <algorithm>

#include "bench/allreduce/run.hpp"
#include "bench/program/watchdog/termination.hpp"

namespace scalebench {
namespace {

AllreduceFootprint footprint_of(const AllreduceOptions& options) {
  const bool apart = std::ranges::find(options.in_place, false) != options.in_place.end();
  return {.largest_bytes = options.max_bytes,
          .out_of_place = apart,
          .cold = options.method.cache == Cache::cold};
}

ExitCode list(const std::vector<AllreduceCase>& plan,
              const std::vector<LaunchTransport>& transports, const AllreduceOptions& options,
              const Console& console) {
  for (const AllreduceCase& one : plan) {
    const LaunchTransport& transport = transports[one.transport];
    console.result(canonical(one, transport.name, transport.memory, options.method) + "\n");
  }
  return ExitCode::ok;
}

ExitCode measure_plan(const Ranks& ranks, const AllreduceOptions& options) {
  Console console(ranks.first(), options.quiet, options.color);
  const RankDevices devices = place_on_devices(ranks, options.devices);
  const TransportPlan wanted = transport_plan(ranks, options.transports, options.memory,
                                              options.one_transport(), devices, options.devices);
  require_memory(footprint_of(options), wanted.on_host(), ranks.session.local_size());
  std::vector<LaunchTransport> transports = open_transports(ranks, wanted, devices);
  const std::vector<AllreduceCase> plan = plan_of(options, transports.size());
  if (options.dry_run) return list(plan, transports, options, console);
  AllreduceRun run(ranks, options, transports, devices, console);
  try {
    allocate(transports, footprint_of(options));
    return run.measure(plan);
  } catch (const std::exception& error) {
    // Letting go of windows is collective, and the other ranks are elsewhere: nothing may unwind.
    run.give_up();
    say_last(
        fmt::format("rank {} {}: {}", ranks.session.rank(), ranks.session.host(), error.what()));
    ranks.session.abort(static_cast<int>(ExitCode::internal));
  }
}

}  // namespace
}  // namespace scalebench

int main(int argc, char** argv) {
  return scalebench::run_program(argc, argv, &scalebench::parse_allreduce_options,
                                 &scalebench::measure_plan);
}
