// SPDX-License-Identifier: Apache-2.0
// mpirun -np N bench_epoch: whole training epochs on N ranks, strong or weak scaling, with the
// phases of each rank and the accuracy that was reached.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "bench/cli/console.hpp"
#include "bench/program/monitor.hpp"
#include "bench/program/program.hpp"
#include "bench/program/recorder.hpp"
#include "bench/program/watchdog/termination.hpp"
#include "bench/training/epoch/measure.hpp"
#include "bench/training/epoch/options.hpp"
#include "bench/training/epoch/recording.hpp"
#include "bench/training/epoch/rows.hpp"

namespace scalebench {
namespace {

/// Says why, and ends all ranks where one failed inside a step: it cannot come back to the others.
void end_failed(const Ranks& ranks, const EpochRun& run) {
  if (run.failure.empty()) return;
  if (!run.alone) {
    if (ranks.first()) fmt::print(stderr, "{}\n", run.failure);
    return;
  }
  say_last(run.failure);
  // Memory ends on all ranks alike, as a rule: rank 0 shall have time to write its row.
  if (!ranks.first()) std::this_thread::sleep_for(std::chrono::seconds(3));
  std::fflush(nullptr);
  ranks.session.abort(static_cast<int>(ExitCode::incomplete));
}

ExitCode train_epochs(const Ranks& ranks, const EpochOptions& given) {
  EpochOptions options = given;
  choose_device(ranks, options.training);
  Recorder recorder(ranks, options.training.record, epoch_schema(), options.training.command,
                    training_libraries());
  SideFile accuracy(ranks, options.training.record, accuracy_schema());
  Console console(ranks.first(), options.training.quiet, options.training.color);
  note_job(options.training, options.checkpoints.folder, console);
  Monitor monitor(ranks, options.training.monitor, options.training.record, recorder, "epoch");
  const std::string& format = options.training.format;
  const EpochRun run = measure_epochs(ranks, options, [&](const EpochRun& so_far) {
    for (const ResultRow& row : samples_of_last(options, so_far, recorder)) recorder.write(row);
    accuracy.write(accuracy_of_last(options, so_far, recorder));
    for (const std::string& line : so_far.epochs.back().warnings) {
      console.warn(line, "its place is taken by the next image; mend or remove the file");
    }
    if (format != "table") return;
    if (so_far.epochs.size() == 1) console.result(epoch_head(ranks, options, so_far));
    console.result(epoch_line(so_far));
  });
  Outcome outcome;
  if (format == "csv") console.result(csv_header(epoch_schema()));
  for (const ResultRow& row : rows_of(ranks, options, run, recorder)) {
    recorder.write(row);
    if (format == "csv") console.result(csv_line(row));
    if (format == "json") console.result(json_line(row));
    outcome.count(row.get("status"));
  }
  monitor.finish(console);
  if (run.failure.empty() && !options.record_trace.empty()) record_trace(ranks, options, console);
  recorder.finish();
  end_failed(ranks, run);
  return outcome.exit_code();
}

}  // namespace
}  // namespace scalebench

int main(int argc, char** argv) {
  return scalebench::run_program(argc, argv, &scalebench::parse_epoch_options,
                                 &scalebench::train_epochs);
}
