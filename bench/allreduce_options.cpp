// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>

#include "bench/allreduce_words.hpp"
#include "bench/cli/command_line.hpp"
#include "bench/cli/size.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// Batches of a pipelined case when their number of operations is given: enough for a median.
constexpr std::size_t kBatches = 5;

std::string list_of_names() {
  std::string text = "algorithms (steps and bytes sent of p ranks on one node, size S)\n";
  constexpr double kRanks = 8;
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    const AllreduceCost cost = algorithm.cost(kRanks, 1, kRanks);
    const std::string spent = std::isnan(cost.steps)
                                  ? std::string("p=8: its own choice")
                                  : fmt::format("p=8: {:g} steps, {:g} S", cost.steps, cost.sent);
    text += fmt::format("  {:<20} {:<24} {}\n", algorithm.name, spent, algorithm.purpose);
  }
  text += "transports (what they need)\n";
  for (const TransportNeed& transport : transport_needs()) {
    text += fmt::format("  {:<20} {}\n", transport.name, transport.needs);
  }
  return text;
}

/// The values that a list of names, or `all`, stands for.
template <class Value, std::size_t N>
std::vector<Value> named(std::string_view option, std::string_view kind, const std::string& words,
                         const std::array<Value, N>& values) {
  if (words == "all") return {values.begin(), values.end()};
  std::vector<std::string_view> names;
  for (const Value value : values) names.push_back(name_of(value));
  std::vector<Value> chosen;
  for (const std::string& name : split_list(option, words)) {
    require_known(kind, name, names);
    chosen.push_back(
        values[static_cast<std::size_t>(std::ranges::find(names, name) - names.begin())]);
  }
  return chosen;
}

std::vector<const AllreduceAlgorithm*> algorithms_of(const std::string& words) {
  std::vector<const AllreduceAlgorithm*> chosen;
  if (words == "all") {
    for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) chosen.push_back(&algorithm);
    return chosen;
  }
  for (const std::string& name : split_list("--algorithm", words)) {
    chosen.push_back(&allreduce_named(name));
  }
  return chosen;
}

std::vector<std::string> transports_of(const std::string& words) {
  std::vector<std::string> chosen = split_list("--transport", words);
  std::vector<std::string_view> names;
  for (const TransportNeed& transport : transport_needs()) names.push_back(transport.name);
  if (chosen.size() == 1) names.insert(names.end(), {"auto", "all"});
  for (const std::string& name : chosen) require_known("transport", name, names);
  return chosen;
}

/// {"a", "b", "both"} as booleans: is it `a`? With both, `b` first.
std::vector<bool> is_first(std::string_view word, std::string_view first) {
  if (word == "both") return {false, true};
  return {word == first};
}

void set_sizes(AllreduceOptions& options, const AllreduceWords& words) {
  options.min_bytes = parse_size("-b", words.min_bytes);
  options.max_bytes = parse_size("-e", words.max_bytes);
  options.step_bytes = parse_size("-i", words.step_bytes);
  if (options.min_bytes > options.max_bytes) {
    fail<UsageError>("-b {} is larger than -e {}", words.min_bytes, words.max_bytes);
  }
  if (words.step_factor < 2 && options.step_bytes == 0 && options.min_bytes < options.max_bytes) {
    fail<UsageError>("-f {}: must be at least 2 (or give -i)", words.step_factor);
  }
  options.step_factor = static_cast<std::size_t>(std::max(words.step_factor, 2L));
}

void set_cases(AllreduceOptions& options, const AllreduceWords& words) {
  require_known("memory", words.memory, kMemories);
  require_known("placement", words.placement, kPlacements);
  require_known("mode", words.mode, kModes);
  require_known("cache", words.cache, kCaches);
  require_known("order", words.order, kOrders);
  options.algorithms = algorithms_of(words.algorithms);
  options.transports = transports_of(words.transports);
  if (words.memory != "auto") {
    options.memory = words.memory == "host" ? MemoryChoice::host : MemoryChoice::device;
  }
  check_device_options(options.devices);
  if (options.memory == MemoryChoice::device && options.devices.device == "cpu") {
    fail<UsageError>("--memory device is a device's memory, and --device cpu asks for none");
  }
  if (options.memory == MemoryChoice::host && options.devices.required()) {
    fail<UsageError>("{} asks for devices, and --memory host for none", options.devices.typed());
  }
  options.dtypes = named("-d", "datatype", words.dtypes, kDTypes);
  options.ops = named("-o", "op", words.ops, kReduceOps);
  options.in_place = is_first(words.placement, "in_place");
  options.pipelined = is_first(words.mode, "pipelined");
  options.shuffle = words.order == "shuffled";
}

void set_method(AllreduceOptions& options, const AllreduceWords& words) {
  AllreduceMethod& method = options.method;
  if (words.repetitions < 0) fail<UsageError>("-n {}: must not be negative", words.repetitions);
  if (words.warm_up < -1) fail<UsageError>("-w {}: must be -1 or more", words.warm_up);
  if (words.check != 0 && words.check != 1) fail<UsageError>("-c {}: must be 0 or 1", words.check);
  if (words.bound != 0 && words.bound != 1) fail<UsageError>("--bound: must be 0 or 1");
  if (words.links != 0 && words.links != 1) fail<UsageError>("--links: must be 0 or 1");
  if (words.graph < 0) fail<UsageError>("-G {}: must not be negative", words.graph);
  if (words.max_seconds && !(*words.max_seconds > 0)) {
    fail<UsageError>("--max-seconds: must be positive");
  }
  if (!(options.timeout_seconds >= 0)) fail<UsageError>("-T: must not be negative");
  const auto cache = static_cast<Cache>(std::ranges::find(kCaches, words.cache) - kCaches.begin());
  if (cache == Cache::cold && words.graph > 0) {
    fail<UsageError>("-G {}: a graph replays one buffer; leave out --cache cold", words.graph);
  }
  method.repetitions = static_cast<std::size_t>(words.repetitions);
  if (method.repetitions > 0) method.pipeline = method.repetitions;
  if (words.graph > 0) method.pipeline *= static_cast<std::size_t>(words.graph);
  method.batches = method.repetitions > 0 ? kBatches : 0;
  method.warm_up.fixed = words.warm_up;
  options.max_seconds = words.max_seconds;
  method.check = words.check == 1;
  method.cache = cache;
  method.graph = words.graph > 0;
  options.bound = words.bound == 1;
  options.links = words.links == 1;
}

/// Formats of other tools have no column that tells two algorithms or transports apart.
void require_one_line_a_size(const AllreduceOptions& options) {
  const std::string& format = options.format;
  if (!options.one_transport()) return;
  const auto refuse = [&](std::string_view what, std::string_view remedy) {
    fail<UsageError>("--format {} cannot tell {} apart: add {}", format, what, remedy);
  };
  if (options.algorithms.size() != 1) refuse("algorithms", "--algorithm with one name");
  if (options.transports.size() != 1 || options.transports.front() == "all") {
    refuse("transports", "--transport with one name");
  }
  if (options.pipelined.size() != 1) refuse("modes", "--mode isolated or pipelined");
  if (options.shuffle) fail<UsageError>("--format {} has a fixed order: leave out --order", format);
  if (format == "nccl") return;
  if (options.in_place.size() != 1) refuse("placements", "--placement in_place or out_of_place");
  if (options.dtypes.size() != 1) refuse("datatypes", "-d with one name");
  if (options.ops.size() != 1) refuse("ops", "-o with one name");
}

}  // namespace

AllreduceOptions parse_allreduce_options(int argc, const char* const* argv, int ranks) {
  AllreduceOptions options;
  options.command.assign(argv, argv + argc);
  AllreduceWords words;
  CLI::App app("Time allreduce algorithms side by side: mpirun -np N bench_allreduce",
               "bench_allreduce");
  describe(app, words, options);
  if (!parse_command_line(app, argc, argv, options.text)) return options;
  if (words.list) {
    options.text = list_of_names();
    return options;
  }
  require_known("format", options.format, kFormats);
  apply_format_defaults(app, options.format, words);
  apply_nccl_letters(app, words);
  set_sizes(options, words);
  set_cases(options, words);
  set_method(options, words);
  require_one_line_a_size(options);
  options.fault = AllreduceFault::parse(words.fault, ranks);
  return options;
}

}  // namespace scalebench
