// SPDX-License-Identifier: Apache-2.0
#include "bench/training/throughput/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "bench/cli/command_line.hpp"
#include "bench/cli/quantity.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::string_view kLargest = "largest";

std::vector<std::int64_t> parse_batches(const std::string& list) {
  std::vector<std::int64_t> batches;
  for (const std::string& word : split_list("--batch", list)) {
    std::int64_t batch = kLargestBatch;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), batch);
    const bool number = error == std::errc() && end == word.data() + word.size() && batch >= 0;
    if (!number && word != kLargest) {
      fail<UsageError>("--batch {}: expected a number of images or {}", word, kLargest);
    }
    batches.push_back(number ? batch : kLargestBatch);
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
  std::string batches = "0", memory_limit;
  offer(app.add_option("--batch", batches,
                       "images per rank and step, or a list as 32,64,largest; largest: as many as "
                       "memory holds, found by trying; 0: the model's default")
            ->capture_default_str(),
        {std::string(kLargest)});
  app.add_option(
         "--memory-limit", memory_limit,
         fmt::format(
             "memory that training may take (on a CPU: by which the largest batch is chosen); {}",
             kSizeRule))
      ->type_name("SIZE");
  bool no_roofline = false;
  app.add_flag("--no-roofline", no_roofline,
               "leave out what the device can do at best, which is measured before the cases");
  app.add_option("-n,--steps", options.steps,
                 "timed steps of each rank; 0: until every median's 95 % interval is within 1 %")
      ->capture_default_str();
  app.add_option("--max-seconds", options.max_seconds, "cap on the timed steps")
      ->capture_default_str();
  if (!parse_command_line(app, argc, argv, options.text)) return options;
  apply_training_options(options.training);
  options.batches = parse_batches(batches);
  if (!memory_limit.empty()) {
    options.memory_limit = parse_size("--memory-limit", memory_limit);
    if (options.memory_limit == 0) fail<UsageError>("--memory-limit 0: must be positive");
  }
  options.roofline = !no_roofline;
  if (options.steps < 0) fail<UsageError>("-n {}: must not be negative", options.steps);
  if (!(options.max_seconds > 0)) fail<UsageError>("--max-seconds: must be positive");
  if (options.training.trainer.choice.trace != nullptr) {
    fail<UsageError>("--model {}: only bench_epoch replays steps",
                     options.training.trainer.choice.model);
  }
  options.training.trainer.gradient_sync = "none";
  options.training.trainer.exact_phases = false;
  options.training.trainer.try_convolutions = true;
  for (const std::int64_t batch : options.batches) {
    // Which cases the device cannot do is for their rows to say.
    TrainerOptions one = options.training.trainer;
    apply(StepVariant{}, one);
    one.batch = std::max<std::int64_t>(0, batch);
    resolved(one, ranks);
  }
  return options;
}

}  // namespace scalebench
