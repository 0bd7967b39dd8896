// SPDX-License-Identifier: Apache-2.0
#include "bench/training/throughput/options.hpp"

#include <limits>

#include "bench/cli/help.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/cli/words.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

std::vector<std::int64_t> parse_batches(const std::string& list) {
  std::vector<std::int64_t> batches;
  for (const std::string& word : split_set("--batch-per-rank", list)) {
    const auto batch = read_number<std::int64_t>(word);
    if (!batch || *batch < 0) {
      fail<UsageError>("--batch-per-rank {}: expected a number of images", word);
    }
    batches.push_back(*batch);
  }
  return batches;
}

}  // namespace

ThroughputOptions parse_throughput_options(int argc, const char* const* argv, int ranks) {
  ThroughputOptions options;
  options.training.command.assign(argv, argv + argc);
  CLI::App app("Time full training steps without synchronisation: mpirun -np N bench_throughput",
               "bench_throughput");
  add_training_options(app, options.training);
  const auto batches = [&](const std::string& list) { options.batches = parse_batches(list); };
  add_word<std::string>(app, "--batch-per-rank", "0", batches,
                        "images of a step, or a list as 32,64,128; 0: the model's default");
  app.add_option("-n,--steps", options.steps,
                 "timed steps of each rank; 0: until every median's 95 % interval is within 1 %")
      ->capture_default_str();
  add_timeout_option(app, options.timeout_seconds);
  add_examples(app,
               {"--model mlp", "--model mnist_cnn --batch-per-rank 32,64,128",
                "--model resnet20 --data synthetic --precision float32,bfloat16"},
               "mpirun -np 2 bench_throughput");
  app.add_option("--max-seconds", options.max_seconds,
                 "cap on the timed steps; with -n there is none by default")
      ->capture_default_str();
  if (!parse_command_line(app, argc, argv, options.text)) return options;
  apply_training_options(options.training);
  if (options.steps < 0) fail<UsageError>("-n {}: must not be negative", options.steps);
  if (!(options.max_seconds > 0)) fail<UsageError>("--max-seconds: must be positive");
  if (options.steps > 0 && app.count("--max-seconds") == 0) {
    options.max_seconds = std::numeric_limits<double>::infinity();
  }
  options.training.trainer.gradient_sync = "none";
  options.training.trainer.exact_phases = false;
  options.training.trainer.try_convolutions = true;
  for (const std::int64_t batch : options.batches) {
    // Which cases the device cannot do is for their rows to say.
    TrainerOptions one = options.training.trainer;
    apply(StepVariant{}, one);
    one.batch = batch;
    resolved(one, ranks);
  }
  return options;
}

}  // namespace scalebench
