// SPDX-License-Identifier: Apache-2.0
// mpirun -np N bench_throughput: images/s of each rank for full training steps without
// synchronisation, all ranks at work at once, so that what they take from each other shows.
#include "bench/cli/console.hpp"
#include "bench/program/monitor.hpp"
#include "bench/training/throughput/options.hpp"
#include "bench/training/throughput/run.hpp"

namespace scalebench {
namespace {

ExitCode measure_steps(const Ranks& ranks, const ThroughputOptions& given) {
  ThroughputOptions options = given;
  choose_device(ranks, options.training);
  Recorder recorder(ranks, options.training.record, throughput_schema(), options.training.command,
                    training_libraries());
  Console console(ranks.first(), options.training.quiet, options.training.color);
  note_job(options.training, "", console);
  Monitor monitor(ranks, options.training.monitor, options.training.record, recorder, "throughput");
  const ExitCode code = ThroughputRun(ranks, options, recorder, console).all_cases();
  monitor.finish(console);
  recorder.finish();
  return code;
}

}  // namespace
}  // namespace scalebench

int main(int argc, char** argv) {
  return scalebench::run_program(argc, argv, &scalebench::parse_throughput_options,
                                 &scalebench::measure_steps);
}
