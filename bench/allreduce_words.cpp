// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce_words.hpp"

#include <CLI/CLI.hpp>

#include "bench/cli/choices.hpp"
#include "bench/cli/console.hpp"
#include "bench/cli/size.hpp"
#include "kernels/error.hpp"

namespace scalebench {
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
