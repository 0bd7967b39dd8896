// SPDX-License-Identifier: Apache-2.0
// mpirun -np N bench_allreduce: allreduce algorithms side by side in one launch.
// parse -> plan -> for each case: check, time, write the row.
#include <fmt/format.h>

#include "bench/allreduce_options.hpp"
#include "bench/allreduce_row.hpp"
#include "bench/allreduce_table.hpp"
#include "bench/allreduce_transport.hpp"
#include "bench/cli/console.hpp"
#include "bench/cli/size.hpp"
#include "bench/outcome.hpp"
#include "collectives/nccl_communicator.hpp"

namespace scalebench {
namespace {

ExitCode measure_plan(const Ranks& ranks, const AllreduceOptions& options) {
  const std::vector<AllreduceCase> plan = plan_of(options);
  Console console(ranks.first(), options.quiet);
  require_memory(options.max_bytes, ranks.session.local_size(), options.method.cold);
  const AllreduceTransport transport(ranks, options.transport);
  Communicator& data = transport.communicator();
  if (options.dry_run) {
    for (const AllreduceCase& one : plan) {
      console.result(canonical(one, data, options.method) + "\n");
    }
    return ExitCode::ok;
  }
  Recorder recorder(ranks, options.record, allreduce_schema(), options.command,
                    {.mpi = MpiSession::library_version(), .torch = "", .nccl = nccl_version()});
  AllreduceMethod method = options.method;
  // Ranks that share a core cannot spin until a common instant.
  if (recorder.origin() == "emulated") method.start = StartMode::barrier;

  const AllreducePrinter printer(options.format, console);
  printer.head(ranks, data, method, recorder.origin());
  Outcome outcome;
  for (std::size_t done = 0; done < plan.size(); ++done) {
    const AllreduceCase& one = plan[done];
    console.progress(done + 1, plan.size(),
                     fmt::format("allreduce {} {} {}", one.algorithm->name, name_of(one.dtype),
                                 show_size(one.bytes())),
                     outcome.seconds_left(plan.size() - done));
    const AllreduceResult result = measure_allreduce(data, ranks.host, one, method);
    const ResultRow row = row_of(one, result, data, method, recorder);
    for (std::size_t i = 0; i < result.timing.repetitions.size(); ++i) {
      recorder.write(sample_of(one, result.timing, i, data, method, recorder));
    }
    recorder.write(row);
    console.clear_progress();
    printer.line(row);
    outcome.count(result.status);
  }
  recorder.finish();
  return outcome.exit_code();
}

}  // namespace
}  // namespace scalebench

int main(int argc, char** argv) {
  return scalebench::run_program(argc, argv, &scalebench::parse_allreduce_options,
                                 &scalebench::measure_plan);
}
