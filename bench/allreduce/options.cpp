// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>

#include "bench/cli/command_line.hpp"
#include "bench/cli/console.hpp"
#include "bench/cli/quantity.hpp"
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

namespace {

std::vector<std::string> algorithm_words() {
  std::vector<std::string> words{"all"};
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    words.emplace_back(algorithm.name);
  }
  return words;
}

std::vector<std::string> transport_words() {
  std::vector<std::string> words{"auto", "all"};
  for (const TransportNeed& transport : transport_needs()) words.emplace_back(transport.name);
  return words;
}

std::vector<std::string> or_all(const auto& values) {
  std::vector<std::string> words{"all"};
  for (const auto value : values) words.emplace_back(name_of(value));
  return words;
}

void describe_sizes(CLI::App& app, AllreduceWords& words) {
  app.add_option("-b,--minbytes", words.min_bytes,
                 "smallest buffer of one rank; sizes are " + std::string(kSizeRule))
      ->capture_default_str();
  app.add_option("-e,--maxbytes", words.max_bytes, "largest buffer")->capture_default_str();
  app.add_option("-f,--stepfactor", words.step_factor, "multiply the size by this")
      ->capture_default_str();
  app.add_option("-i,--stepbytes", words.step_bytes, "add this to the size instead")
      ->capture_default_str();
}

void describe_cases(CLI::App& app, AllreduceWords& words, AllreduceOptions& options) {
  const auto choose = [&app](const char* name, std::string& word, const char* what,
                             const auto& values) {
    offer(app.add_option(name, word, what)->capture_default_str(), values);
  };
  choose("--algorithm", words.algorithms, "names of --list separated by commas, or all",
         algorithm_words());
  choose("--transport", words.transports,
         "names of --list separated by commas, all, or auto: mpi and shared_memory; nccl and "
         "cuda_ipc where every rank has a device",
         transport_words());
  choose("--memory", words.memory, "host, device, or auto: device for nccl and cuda_ipc",
         kMemories);
  add_device_options(app, options.devices);
  choose("-d,--datatype", words.dtypes,
         "float, double, int32, half, bfloat16 separated by commas, or all", or_all(kDTypes));
  choose("-o,--op", words.ops, "sum, prod, min, max, avg separated by commas, or all",
         or_all(kReduceOps));
  choose("--placement", words.placement, "in_place, out_of_place or both", kPlacements);
  choose("--mode", words.mode,
         "isolated: one operation between common start and last end; pipelined: many back to back "
         "under one clock; or both",
         kModes);
  choose("--cache", words.cache,
         "warm: one buffer; cold: rotate through 4x the last cache; written: each rank has just "
         "written its buffer, as a backward pass does",
         kCaches);
  app.add_option("-G,--cudagraph", words.graph,
                 "replay a CUDA graph of the operation, this many times as many in pipelined mode")
      ->capture_default_str();
  choose("--order", words.order, "order of cases: ascending or shuffled", kOrders);
  app.add_option("--seed", options.seed, "of the shuffle")->capture_default_str();
}

void describe_method(CLI::App& app, AllreduceWords& words, AllreduceOptions& options) {
  app.add_option("-n,--iters", words.repetitions,
                 "repetitions of a case (pipelined: operations of each); 0: until the median's "
                 "95 % interval is narrow")
      ->capture_default_str();
  app.add_option("-w,--warmup_iters", words.warm_up, "warm-up operations; -1: until steady")
      ->capture_default_str();
  app.add_option("-c,--check", words.check, "verify results before and after timing: 1 or 0")
      ->capture_default_str();
  app.add_option("--max-seconds", words.max_seconds,
                 "cap on the repetitions of a case; default: 5, or less where that many cases "
                 "would take minutes");
  app.add_option("--bound", words.bound,
                 "measure how fast memory alone would let each size be: 1 or 0")
      ->capture_default_str();
  app.add_option("--links", words.links,
                 "of several hosts, measure first how fast each one's link is: 1 or 0")
      ->capture_default_str();
  app.add_option("--choices", options.choices,
                 "allreduce.csv of an earlier run from which `auto` chooses, instead of a short "
                 "trial before the first case")
      ->type_name("FILE");
  app.add_option("-T,--timeout", options.timeout_seconds,
                 "seconds without progress after which the program ends and names the ranks that "
                 "are missing; 0: 25, or more for buffers that may take longer")
      ->capture_default_str();
  app.add_option("--fault", words.fault, "rehearse a failure: " + std::string(kFaultForm));
}

void describe_nccl_letters(CLI::App& app, AllreduceWords& words) {
  const std::string group = "nccl-tests' letters that mean little here";
  app.add_option("-z,--blocking", words.blocking, "0: pipelined; 1, 3: isolated")->group(group);
  app.add_option("-t,--nthreads", words.threads, "only 1: ranks come from mpirun")->group(group);
  app.add_option("-g,--ngpus", words.devices, "only 1: ranks come from mpirun")->group(group);
  app.add_option("-m,--agg_iters", words.aggregate, "only 1")->group(group);
  app.add_option("-a,--average", words.average, "only 3: the slowest rank")->group(group);
  app.add_option("-C,--report_cputime", words.cpu_time, "only 0")->group(group);
  app.add_option("-R,--local_register", words.registered, "only 0")->group(group);
  app.add_option("-r,--root", words.root, "ignored: an allreduce has none")->group(group);
}

}  // namespace

void describe(CLI::App& app, AllreduceWords& words, AllreduceOptions& options) {
  describe_sizes(app, words);
  describe_cases(app, words, options);
  describe_method(app, words, options);
  offer(app.add_option("--format", options.format,
                       "on stdout: table, csv, json (one object a line), or with their tools' "
                       "defaults and columns nccl (nccl-tests) or osu (osu_allreduce)")
            ->capture_default_str(),
        kFormats);
  app.add_flag("--per-rank", options.per_rank, "print each rank's own part below the table");
  add_record_options(app, options.record);
  app.add_flag("--list", words.list, "list the algorithms and transports, and stop");
  app.add_flag("--dry-run", options.dry_run, "list the cases and stop");
  app.add_flag("-q,--quiet", options.quiet, "no progress on stderr");
  add_color_option(app, options.color);
  describe_nccl_letters(app, words);
}

void apply_format_defaults(const CLI::App& app, const std::string& format, AllreduceWords& words) {
  const auto unless_given = [&](const char* option, auto& word, const auto& value) {
    if (app.count(option) == 0) word = value;
  };
  if (format == "nccl") {
    unless_given("--minbytes", words.min_bytes, "32M");
    unless_given("--maxbytes", words.max_bytes, "32M");
    if (app.count("--stepfactor") == 0) unless_given("--stepbytes", words.step_bytes, "1M");
    unless_given("--iters", words.repetitions, 20);
    unless_given("--warmup_iters", words.warm_up, 1);
    unless_given("--mode", words.mode, "pipelined");
    unless_given("--placement", words.placement, "both");
    unless_given("--algorithm", words.algorithms, "native");
  }
  if (format == "osu") {
    unless_given("--minbytes", words.min_bytes, "4");
    unless_given("--maxbytes", words.max_bytes, "1M");
    unless_given("--stepfactor", words.step_factor, 2);
    unless_given("--placement", words.placement, "out_of_place");
    unless_given("--algorithm", words.algorithms, "native");
  }
}

void apply_nccl_letters(const CLI::App& app, AllreduceWords& words) {
  if (words.threads != 1 || words.devices != 1) {
    fail<UsageError>("-{} {}: ranks come from mpirun, one for each device (mpirun -np {} ...)",
                     words.threads != 1 ? 't' : 'g',
                     words.threads != 1 ? words.threads : words.devices,
                     words.threads * words.devices);
  }
  if (words.aggregate != 1) {
    fail<UsageError>("-m {}: operations are not aggregated; leave it out", words.aggregate);
  }
  if (words.average != 3) {
    fail<UsageError>("-a {}: the time is always the slowest rank's (-a 3); --per-rank shows all",
                     words.average);
  }
  if (words.cpu_time != 0) {
    fail<UsageError>("-C {}: the time is always that of the whole operation", words.cpu_time);
  }
  if (words.registered != 0) {
    fail<UsageError>("-R {}: each transport decides how its windows are registered",
                     words.registered);
  }
  if (words.root != "-1" && words.root != "0") {
    fail<UsageError>("-r {}: an allreduce has no root; leave it out", words.root);
  }
  if (app.count("--blocking") == 0) return;
  const bool isolated = words.blocking == 1 || words.blocking == 3;
  if (!isolated && words.blocking != 0) {
    fail<UsageError>("-z {}: must be 0 (pipelined), 1 or 3 (isolated)", words.blocking);
  }
  words.mode = isolated ? "isolated" : "pipelined";
}

}  // namespace scalebench
