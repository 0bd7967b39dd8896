// SPDX-License-Identifier: Apache-2.0
#include "bench/allreduce_options.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "bench/cli/command_line.hpp"
#include "bench/cli/size.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::array<std::string_view, 3> kFormats{"table", "csv", "json"};
constexpr std::array<std::string_view, 3> kTransports{"auto", "mpi", "nccl"};
constexpr std::array<std::string_view, 2> kCaches{"warm", "cold"};
constexpr std::array<std::string_view, 2> kOrders{"ascending", "shuffled"};
constexpr std::array<std::string_view, 1> kOps{"sum"};

/// What the command line says, before it is checked.
struct Words {
  std::string min_bytes = "1K";
  std::string max_bytes = "64M";
  std::string step_bytes = "0";
  std::string algorithms = "all";
  std::string dtypes = "float";
  std::string op = "sum";
  std::string cache = "warm";
  std::string order = "ascending";
  long step_factor = 4;
  long repetitions = 0;
  int warm_up = -1;
  int check = 1;
  bool list = false;
};

std::string list_of_algorithms() {
  std::string text;
  for (const AllreduceAlgorithm& algorithm : allreduce_algorithms()) {
    text += fmt::format("{:<10} {}\n", algorithm.name, algorithm.purpose);
  }
  return text;
}

std::vector<DType> dtypes_of(const std::string& words) {
  if (words == "all") return {kDTypes.begin(), kDTypes.end()};
  std::vector<std::string_view> names;
  for (const DType dtype : kDTypes) names.push_back(name_of(dtype));
  std::vector<DType> dtypes;
  for (const std::string& name : split_list("-d", words)) {
    require_known("datatype", name, names);
    dtypes.push_back(*dtype_named(name));
  }
  return dtypes;
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

void describe(CLI::App& app, Words& words, AllreduceOptions& options) {
  app.add_option("-b,--minbytes", words.min_bytes,
                 "smallest buffer of one rank; sizes are " + std::string(kSizeRule))
      ->capture_default_str();
  app.add_option("-e,--maxbytes", words.max_bytes, "largest buffer")->capture_default_str();
  app.add_option("-f,--stepfactor", words.step_factor, "multiply the size by this")
      ->capture_default_str();
  app.add_option("-i,--stepbytes", words.step_bytes, "add this to the size instead")
      ->capture_default_str();
  app.add_option("-n,--iters", words.repetitions,
                 "repetitions of a case; 0: until the median's 95 % interval is narrow")
      ->capture_default_str();
  app.add_option("-w,--warmup_iters", words.warm_up, "warm-up operations; -1: until steady")
      ->capture_default_str();
  app.add_option("-c,--check", words.check, "verify results before and after timing: 1 or 0")
      ->capture_default_str();
  app.add_option("-d,--datatype", words.dtypes, "float, double, int32, half, bfloat16 or all")
      ->capture_default_str();
  app.add_option("-o,--op", words.op, "reduction: sum")->capture_default_str();
  app.add_option("--algorithm", words.algorithms, "names of --list separated by commas, or all")
      ->capture_default_str();
  app.add_option("--transport", options.transport,
                 "mpi (host memory), nccl (device memory), auto (nccl where there is a device)")
      ->capture_default_str();
  app.add_option("--cache", words.cache, "warm: one buffer; cold: rotate through 4x the last cache")
      ->capture_default_str();
  app.add_option("--order", words.order, "order of sizes: ascending or shuffled")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of the shuffle")->capture_default_str();
  app.add_option("--max-seconds", options.method.stop_seconds, "cap on the repetitions of a case")
      ->capture_default_str();
  app.add_option("--format", options.format, "table, csv or json (one object a line) on stdout")
      ->capture_default_str();
  add_record_options(app, options.record);
  app.add_flag("--list", words.list, "list the algorithms and stop");
  app.add_flag("--dry-run", options.dry_run, "list the cases and stop");
  app.add_flag("-q,--quiet", options.quiet, "no progress on stderr");
}

}  // namespace

AllreduceOptions parse_allreduce_options(int argc, const char* const* argv, int /*ranks*/) {
  AllreduceOptions options;
  options.command.assign(argv, argv + argc);
  Words words;
  CLI::App app("Time allreduce algorithms side by side: mpirun -np N bench_allreduce",
               "bench_allreduce");
  describe(app, words, options);
  if (!parse_command_line(app, argc, argv, options.text)) return options;
  if (words.list) {
    options.text = list_of_algorithms();
    return options;
  }
  require_known("format", options.format, kFormats);
  require_known("transport", options.transport, kTransports);
  require_known("cache", words.cache, kCaches);
  require_known("order", words.order, kOrders);
  require_known("op", words.op, kOps);
  options.algorithms = algorithms_of(words.algorithms);
  options.dtypes = dtypes_of(words.dtypes);
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
  if (words.repetitions < 0) fail<UsageError>("-n {}: must not be negative", words.repetitions);
  if (words.warm_up < -1) fail<UsageError>("-w {}: must be -1 or more", words.warm_up);
  if (words.check != 0 && words.check != 1) fail<UsageError>("-c {}: must be 0 or 1", words.check);
  if (!(options.method.stop_seconds > 0)) fail<UsageError>("--max-seconds: must be positive");
  options.method.repetitions = static_cast<std::size_t>(words.repetitions);
  options.method.warm_up.fixed = words.warm_up;
  options.method.check = words.check == 1;
  options.method.cold = words.cache == "cold";
  options.shuffle = words.order == "shuffled";
  return options;
}

std::vector<AllreduceCase> plan_of(const AllreduceOptions& options) {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = options.min_bytes; bytes <= options.max_bytes;) {
    sizes.push_back(bytes);
    const std::size_t next =
        options.step_bytes > 0 ? bytes + options.step_bytes : bytes * options.step_factor;
    if (next <= bytes) break;
    bytes = next;
  }
  std::mt19937_64 random(options.seed);
  const auto shuffle = [&](auto& list) {
    for (std::size_t i = list.size(); options.shuffle && i > 1; --i) {
      std::swap(list[i - 1], list[random() % i]);
    }
  };
  std::vector<AllreduceCase> blocks;
  for (const DType dtype : options.dtypes) {
    for (const std::size_t bytes : sizes)
      blocks.push_back({nullptr, dtype, bytes / size_of(dtype)});
  }
  shuffle(blocks);
  std::vector<AllreduceCase> plan;
  for (const AllreduceCase& block : blocks) {
    auto algorithms = options.algorithms;
    shuffle(algorithms);
    for (const AllreduceAlgorithm* algorithm : algorithms) {
      plan.push_back({algorithm, block.dtype, block.count});
    }
  }
  return plan;
}

}  // namespace scalebench
