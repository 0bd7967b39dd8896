// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce/options.hpp"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/cli/help.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/cli/words.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

/// Batches of a pipelined case when their number of operations is given: enough for a median.
constexpr std::size_t kBatches = 5;

constexpr std::array<std::string_view, 3> kFormats{"table", "csv", "json"};
constexpr std::array<std::string_view, 3> kMemories{"auto", "host", "device"};
constexpr std::array<std::string_view, 3> kPlacements{"in_place", "out_of_place", "both"};
constexpr std::array<std::string_view, 3> kModes{"isolated", "pipelined", "both"};
constexpr std::array<std::string_view, 2> kOrders{"ascending", "shuffled"};

std::string list_of_names() {
  std::string text = "algorithms (steps and bytes sent of p ranks on one node, size S)\n";
  constexpr double kRanks = 8;
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    const AllreduceCost cost = algorithm.cost(kRanks, 1, kRanks, Reach::windows);
    const std::string spent = std::isnan(cost.steps)
                                  ? std::string("p=8: its own choice")
                                  : fmt::format("p=8: {:g} steps, {:g} S", cost.steps, cost.sent);
    text += fmt::format("  {:<20} {:<24} {}\n", algorithm.name, spent, algorithm.purpose);
  }
  text += "transports (what they need)\n";
  for (const TransportNeed& transport : kTransports) {
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
  for (const std::string& name : split_set(option, words)) {
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
  for (const std::string& name : split_set("--algorithm", words)) {
    chosen.push_back(&allreduce_named(name));
  }
  return chosen;
}

std::vector<std::string> transports_of(const std::string& words) {
  std::vector<std::string> chosen = split_set("--transport", words);
  std::vector<std::string_view> names;
  for (const TransportNeed& transport : kTransports) names.push_back(transport.name);
  if (chosen.size() == 1) names.insert(names.end(), {"auto", "all"});
  for (const std::string& name : chosen) require_known("transport", name, names);
  return chosen;
}

/// `words` and the names in a table.
std::vector<std::string> with_names(std::vector<std::string> words, const auto& table) {
  for (const auto& line : table) {
    if constexpr (requires { line.name; }) {
      words.emplace_back(line.name);
    } else {
      words.emplace_back(name_of(line));
    }
  }
  return words;
}

template <class Value>
Value typed(const CLI::App& app, const char* option) {
  return app.get_option(option)->as<Value>();
}

void describe_sizes(CLI::App& app, AllreduceOptions& options) {
  const auto size = [&](const char* names, std::size_t& bytes, const std::string& otherwise,
                        const std::string& what) {
    const std::string letter(names, 2);
    const auto take = [&bytes, letter](const std::string& word) {
      bytes = parse_size(letter, word);
    };
    add_word<std::string>(app, names, otherwise, take, what);
  };
  size("-b,--minbytes", options.min_bytes, "1K",
       "smallest buffer of one rank; sizes are " + std::string(kSizeRule));
  size("-e,--maxbytes", options.max_bytes, "64M", "largest buffer");
  add_word<long>(
      app, "-f,--stepfactor", 4,
      [&](long factor) { options.step_factor = static_cast<std::size_t>(std::max(factor, 2L)); },
      "multiply the size by this");
}

void describe_cases(CLI::App& app, AllreduceOptions& options) {
  const auto list = [&](const char* names, auto& values, const std::string& otherwise, auto parse,
                        const std::vector<std::string>& words, const char* what) {
    const auto take = [&values, parse](const std::string& word) { values = parse(word); };
    offer(add_word<std::string>(app, names, otherwise, take, what), words);
  };
  // Of {"a", "b", "both"}: is it `yes`? With both, that comes last.
  const auto either = [&](const char* name, std::vector<bool>& values, std::string_view yes,
                          std::span<const std::string_view> words, const char* what) {
    const std::string kind(name + 2);
    const auto take = [&values, yes, words, kind](const std::string& word) {
      require_known(kind, word, words);
      values = word == "both" ? std::vector{false, true} : std::vector{word == yes};
    };
    offer(add_word<std::string>(app, name, std::string(words.front()), take, what), words);
  };
  list("--algorithm", options.algorithms, "all", &algorithms_of,
       with_names({"all"}, allreduce_algorithms()), "names of --list separated by commas, or all");
  list("--transport", options.transports, "auto", &transports_of,
       with_names({"auto", "all"}, kTransports),
       "names of --list separated by commas, all, or auto: mpi and shared_memory; nccl and "
       "cuda_ipc where every rank has a device");
  add_device_options(app, options.devices);
  list(
      "-d,--datatype", options.dtypes, "float",
      [](const std::string& word) { return named("-d", "datatype", word, kDTypes); },
      with_names({"all"}, kDTypes),
      "float, double, int32, half, bfloat16 separated by commas, or all");
  list(
      "-o,--op", options.ops, "sum",
      [](const std::string& word) { return named("-o", "op", word, kReduceOps); },
      with_names({"all"}, kReduceOps), "sum, prod, min, max, avg separated by commas, or all");
  const Heading method(app, kMethod);
  add_choice(app, "--memory", options.memory, kMemories,
             "host, device, or auto: device for nccl and cuda_ipc");
  const auto registrations = [&options](const std::string& word) {
    options.registrations = named("--register", "registration", word, kRegistrations);
  };
  offer(app.add_option_function<std::string>(
            "-R,--register,--local_register", registrations,
            "what NCCL is told of the buffers: 0: nothing; 1: them, for itself (ncclCommRegister); "
            "2: them as symmetric windows (NCCL 2.27 or later); several separated by commas, or "
            "all; default: 1, or 0 where that fails"),
        with_names({"all"}, kRegistrations));
  either("--placement", options.in_place, "in_place", kPlacements,
         "in_place, out_of_place or both");
  either("--mode", options.pipelined, "pipelined", kModes,
         "isolated: one operation between common start and last end; pipelined: many back to back "
         "under one clock; or both");
  add_choice(
      app, "--cache", options.method.cache, kCaches,
      "warm: one buffer; cold: rotate through 4x the last cache; written: each rank has just "
      "written its buffer, as a backward pass does (isolated mode only)");
  const auto graph = [&](int replays) {
    if (replays < 0) fail<UsageError>("-G {}: must not be negative", replays);
    options.method.graph = replays > 0;
  };
  add_word<int>(app, "-G,--cudagraph", 0, graph,
                "replay a CUDA graph of the operation, this many times as many in pipelined mode");
  add_choice(app, "--order", options.shuffle, kOrders, "order of cases: ascending or shuffled");
  app.add_option("--seed", options.seed, "of the shuffle")->capture_default_str();
}

void describe_method(CLI::App& app, int ranks, AllreduceOptions& options) {
  AllreduceMethod& method = options.method;
  const auto checks = [&](long number) {
    if (number < 0) fail<UsageError>("-c {}: must not be negative", number);
    method.checks = static_cast<std::size_t>(number);
  };
  const auto repetitions = [&](long number) {
    if (number < 0) fail<UsageError>("-n {}: must not be negative", number);
    method.repetitions = static_cast<std::size_t>(number);
  };
  const auto warm_up = [&](int number) {
    if (number < -1) fail<UsageError>("-w {}: must be -1 or more", number);
    method.warm_up.fixed = number;
  };
  const auto max_seconds = [&](double seconds) {
    if (!(seconds > 0)) fail<UsageError>("--max-seconds: must be positive");
    options.max_seconds = seconds;
    method.capped = true;
  };
  add_word<long>(app, "-n,--iters", 0, repetitions,
                 "repetitions of a case (pipelined: operations of each); 0: until the median's "
                 "95 % interval is narrow");
  const Heading more(app, kMethod);
  add_word<int>(app, "-w,--warmup_iters", -1, warm_up, "warm-up operations; -1: until steady");
  add_word<long>(app, "-c,--check", 1, checks,
                 "verify so many results before timing, each of other inputs, and one after it; 0: "
                 "none");
  app.add_option_function<double>("--max-seconds", max_seconds,
                                  "cap on the repetitions of a case; default: 5, or less where "
                                  "that many cases would take minutes, and none with -n");
  app.add_flag("!--no-bound", options.bound,
               "leave out how fast memory alone would let each size be");
  add_host_options(app, options.hosts);
  add_timeout_option(app, options.timeout_seconds);
  add_inject_option(app, InjectedInto::allreduce, ranks, options.injections);
}

/// Throws UsageError for options that are right one by one and not together.
void check_together(const CLI::App& app, const AllreduceOptions& options) {
  if (options.min_bytes > options.max_bytes) {
    fail<UsageError>("-b {} is larger than -e {}", typed<std::string>(app, "--minbytes"),
                     typed<std::string>(app, "--maxbytes"));
  }
  const long factor = typed<long>(app, "--stepfactor");
  if (factor < 2 && options.min_bytes < options.max_bytes) {
    fail<UsageError>("-f {}: must be at least 2", factor);
  }
  if (options.min_bytes == 0 && options.max_bytes > 0) {
    fail<UsageError>("-b 0: any factor of it is 0; begin with an element");
  }
  check_device_options(options.devices);
  if (options.memory == MemoryChoice::device && options.devices.device == "cpu") {
    fail<UsageError>("--memory device is a device's memory, and --device cpu asks for none");
  }
  if (options.memory == MemoryChoice::host && options.devices.required()) {
    fail<UsageError>("{} asks for devices, and --memory host for none", options.devices.typed());
  }
  const bool automatic =
      options.transports.front() == "auto" || options.transports.front() == "all";
  if (!automatic) require_nccl_for_registrations(options, options.transports);
  if (options.method.cache == Cache::cold && options.method.graph) {
    fail<UsageError>("-G {}: a graph replays one buffer; leave out --cache cold",
                     typed<int>(app, "--cudagraph"));
  }
  const bool pipelined = std::ranges::find(options.pipelined, true) != options.pipelined.end();
  if (options.method.cache == Cache::written && pipelined) {
    fail<UsageError>("--cache written: {} has many operations on one buffer; give --mode isolated",
                     options.pipelined.size() > 1 ? "--mode both" : "--mode pipelined");
  }
  if (options.method.slower > 0 && options.method.graph) {
    fail<UsageError>("--inject slower: a graph cannot be slowed down; leave out -G");
  }
}

}  // namespace

void describe(CLI::App& app, int ranks, AllreduceOptions& options) {
  describe_sizes(app, options);
  describe_cases(app, options);
  describe_method(app, ranks, options);
  add_choice(app, "--format", options.format, kFormats,
             "on stdout: table, csv or json (one object a line)");
  add_record_options(app, options.record);
  app.add_flag("--list")->description("list the algorithms and transports, and stop");
  app.add_flag("--dry-run", options.dry_run, "list the cases and stop");
  app.add_flag("-q,--quiet", options.quiet, "no progress on stderr");
  add_version_option(app);
  add_examples(app,
               {"-b 1K -e 64M", "--algorithm ring,native --transport shared_memory -e 4M",
                "--mode pipelined --placement both -b 8 -e 128M -f 2"},
               "mpirun -np 2 bench_allreduce");
}

AllreduceOptions parse_allreduce_options(int argc, const char* const* argv, int ranks) {
  AllreduceOptions options;
  options.command.assign(argv, argv + argc);
  CLI::App app("Time allreduce algorithms side by side: mpirun -np N bench_allreduce",
               "bench_allreduce");
  describe(app, ranks, options);
  if (!parse_command_line(app, argc, argv, options.text)) return options;
  if (app.count("--list") > 0) {
    options.text = list_of_names();
    return options;
  }
  options.fault = MomentFault(options.injections);
  options.method.slower = options.injections.amount(Injected::slower);
  check_together(app, options);
  AllreduceMethod& method = options.method;
  if (method.repetitions > 0) {
    method.pipeline = method.repetitions;
    method.batches = kBatches;
  }
  if (method.graph) method.pipeline *= typed<std::size_t>(app, "--cudagraph");
  return options;
}

void require_nccl_for_registrations(const AllreduceOptions& options,
                                    const std::vector<std::string>& transports) {
  const bool there = std::ranges::find(transports, "nccl") != transports.end();
  if (options.registrations.empty() || there) return;
  std::vector<std::string_view> typed;
  for (const Registration one : options.registrations) typed.push_back(name_of(one));
  fail<JointRefusal>(
      "--register {}: says what NCCL is told of its buffers, and transport {} is not NCCL; take "
      "--transport nccl, or leave it out",
      fmt::join(typed, ","), fmt::join(transports, ", "));
}

}  // namespace scalebench
