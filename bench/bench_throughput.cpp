// SPDX-License-Identifier: Apache-2.0
// mpirun -np N bench_throughput: images/s of each rank for full training steps without
// synchronisation, all ranks at work at once, so that what they take from each other shows.
#include <fmt/format.h>

#include "bench/cli/console.hpp"
#include "bench/monitor.hpp"
#include "bench/outcome.hpp"
#include "bench/throughput_case.hpp"
#include "bench/throughput_options.hpp"
#include "bench/throughput_row.hpp"

namespace scalebench {
namespace {

ExitCode measure_steps(const Ranks& ranks, const ThroughputOptions& given) {
  ThroughputOptions options = given;
  choose_device(ranks, options.training);
  Recorder recorder(ranks, options.training.record, throughput_schema(), options.training.command,
                    training_libraries());
  Console console(ranks.first(), options.training.quiet);
  console.note(fmt::format("{}: {} rank(s) at work for up to {:.0f} s",
                           options.training.trainer.model, ranks.session.size(),
                           options.max_seconds));
  Monitor monitor(ranks, options.training.monitor, options.training.record, recorder, "throughput");
  const ThroughputResult result = measure_throughput(ranks, options);
  Outcome outcome;
  console.result(throughput_head(options, result));
  for (const ResultRow& row : rows_of(ranks, options, result, recorder)) {
    recorder.write(row);
    console.result(throughput_line(row, options.training.format));
    outcome.count(row.get("status"));
  }
  for (const ResultRow& row : samples_of(options, result, recorder)) recorder.write(row);
  monitor.finish(console);
  recorder.finish();
  return outcome.exit_code();
}

}  // namespace
}  // namespace scalebench

int main(int argc, char** argv) {
  return scalebench::run_program(argc, argv, &scalebench::parse_throughput_options,
                                 &scalebench::measure_steps);
}
