// SPDX-License-Identifier: Apache-2.0
#include "bench/throughput_options.hpp"

#include <CLI/CLI.hpp>

#include "bench/cli/command_line.hpp"
#include "kernels/error.hpp"

namespace scalebench {

ThroughputOptions parse_throughput_options(int argc, const char* const* argv, int ranks) {
  ThroughputOptions options;
  options.training.command.assign(argv, argv + argc);
  CLI::App app("Time full training steps without synchronisation: mpirun -np N bench_throughput",
               "bench_throughput");
  add_training_options(app, options.training);
  app.add_option("--batch", options.batches,
                 "images per rank and step, or a list as 16,32,64; 0: the model's default")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("-n,--steps", options.steps,
                 "timed steps of each rank; 0: until every median's 95 % interval is within 1 %")
      ->capture_default_str();
  app.add_option("--max-seconds", options.max_seconds, "cap on the timed steps")
      ->capture_default_str();
  if (!parse_command_line(app, argc, argv, options.text)) return options;
  apply_training_options(options.training);
  if (options.steps < 0) fail<UsageError>("-n {}: must not be negative", options.steps);
  if (!(options.max_seconds > 0)) fail<UsageError>("--max-seconds: must be positive");
  if (options.training.trainer.choice.trace != nullptr) {
    fail<UsageError>("--model {}: only bench_epoch replays steps",
                     options.training.trainer.choice.model);
  }
  options.training.trainer.gradient_sync = "none";
  for (const std::int64_t batch : options.batches) {
    TrainerOptions one = options.training.trainer;
    one.batch = batch;
    resolved(one, ranks);
  }
  return options;
}

}  // namespace scalebench
