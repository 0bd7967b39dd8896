// SPDX-License-Identifier: Apache-2.0
// scalebench simulate: the allreduce algorithms on more nodes than there are, in SimGrid, on links
// as the catalog of instance types has them. Exit: ok; incomplete: a start failed or a result was
// wrong; nothing_measured: no case ran.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>

#include "bench/cli/command_line.hpp"
#include "bench/cli/quantity.hpp"
#include "bench/launch/process.hpp"
#include "bench/machine/digest.hpp"
#include "bench/record/file.hpp"
#include "bench/study/analysis/rows.hpp"
#include "bench/study/comparison/cost.hpp"
#include "bench/study/plan/plan.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/simulation/simulation.hpp"
#include "bench/study/verbs/verb.hpp"
#include "collectives/allreduce.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

constexpr std::uintmax_t kBytesNeededToSimulate = 10'000'000;
// Of the way between two nodes in one rack, by TCP; no catalog has it.
constexpr double kAssumedLatency = 25e-6;
// PCIe 3.0 x16 as far as it is reached, and what starting a copy costs.
constexpr double kAssumedWithin = 10e9, kAssumedLatencyWithin = 5e-6;

struct SimulateOptions {
  std::string instance;
  std::filesystem::path instances = configs_folder() / "instances.csv";
  std::string nodes = "16,64,256";
  int per_node = 0;
  std::string algorithms = "ring,hierarchical,rabenseifner,double_binary_tree";
  std::string sizes = "1M,64M";
  std::string link, within;
  double gamma = 0;
  std::string gamma_of;
  std::string topology = "flat";
  std::string placement = "ordered";
  std::uint64_t seed = 1;
  std::string smpirun = "smpirun";
  double timeout_seconds = 3600;
  std::filesystem::path results = "results";
  std::string out;
  bool dry_run = false;
  bool quiet = false;
  std::vector<std::string> command;
};

/// "25gbit,5us" or "25gbit"; a user's word stands before what was found.
SimulatedLink link_of(std::string_view option, const std::string& words, SimulatedLink found) {
  if (words.empty()) return found;
  const std::vector<std::string> parts = split_list(option, words);
  if (parts.size() > 2) {
    fail<UsageError>("{} {}: valid: RATE or RATE,LATENCY, {} and {}", option, words, kRateRule,
                     kDurationRule);
  }
  found.bytes_per_second = parse_rate(parts[0]) / 8;
  found.source = fmt::format("{} {}", option, words);
  if (parts.size() == 2) {
    found.latency_seconds = parse_duration(parts[1]);
  } else {
    found.source += ", latency assumed";
  }
  return found;
}

SimulatedLink between(const SimulateOptions& options, const Instance& instance) {
  if (std::isnan(instance.network_gbps) && options.link.empty()) {
    fail<UsageError>("{}: the catalog has no network_gbps; say it, as --link 25gbit,5us",
                     instance.name);
  }
  return link_of("--link", options.link,
                 {instance.network_gbps * 1e9 / 8, kAssumedLatency, "catalog, latency assumed"});
}

SimulatedLink within(const SimulateOptions& options, const Instance& instance) {
  const auto rate = interconnect_rate(instance.interconnect);
  return link_of("--within", options.within,
                 {rate.value_or(kAssumedWithin), kAssumedLatencyWithin,
                  rate ? "catalog, latency assumed" : "assumed"});
}

std::optional<FatTree> tree_of(const std::string& words) {
  if (words == "flat") return std::nullopt;
  static const RE2 kTree(R"(fat_tree:(\d{1,6}):(\d{1,6}))");
  int leaf = 0, ratio = 0;
  if (!RE2::FullMatch(words, kTree, &leaf, &ratio)) {
    fail<UsageError>(
        "--topology {}: valid: flat, or fat_tree:NODES_OF_A_SWITCH:OVERSUBSCRIPTION as "
        "fat_tree:16:4",
        words);
  }
  return FatTree{leaf, ratio};
}

RankPlacement placement_of(const std::string& word) {
  constexpr std::array<std::string_view, 2> kPlacements{"ordered", "shuffled"};
  require_known("placement", word, kPlacements);
  return word == "shuffled" ? RankPlacement::shuffled : RankPlacement::ordered;
}

/// What a measured run of bench_kernels says of adding a byte: its largest `add` of floats.
double gamma_of(const std::filesystem::path& run) {
  const ResultRow* largest = nullptr;
  const std::vector<ResultRow> rows = rows_in(run, kernels_schema());
  for (const ResultRow& row : rows) {
    const bool fits = row.get("kernel") == "add" && row.get("status") == "ok" &&
                      row.get("memory") == "host" && row.get("dtype") == "float" &&
                      row.get("origin") == "measured";
    if (fits && (largest == nullptr || number_in(row, "count") > number_in(*largest, "count"))) {
      largest = &row;
    }
  }
  if (largest == nullptr) {
    fail<UsageError>("--gamma-of {}: no measured row of kernel add, float, in its kernels.csv",
                     run.string());
  }
  return number_in(*largest, "seconds_median") / (number_in(*largest, "count") * sizeof(float));
}

void set_gamma(const SimulateOptions& options, SimulationPlan& plan) {
  if (!(options.gamma >= 0 && options.gamma < 1)) {
    fail<UsageError>("--gamma {}: expected seconds for each byte, as 1e-10", options.gamma);
  }
  if (!options.gamma_of.empty() && options.gamma > 0) {
    fail<UsageError>("--gamma and --gamma-of both say what reducing costs; give one");
  }
  plan.reduce_seconds_per_byte =
      options.gamma_of.empty() ? options.gamma : gamma_of(options.gamma_of);
  if (plan.reduce_seconds_per_byte == 0) {
    plan.reduce_source = "reductions cost nothing (--gamma)";
    return;
  }
  plan.reduce_source =
      fmt::format("reductions {:g} s/byte ({})", plan.reduce_seconds_per_byte,
                  options.gamma_of.empty() ? "--gamma" : fmt::format("of {}", options.gamma_of));
}

std::filesystem::path program() {
  std::filesystem::path path = programs_folder() / "simulate_allreduce";
  if (!std::filesystem::exists(path)) {
    fail<UsageError>(
        "simulate_allreduce is not built: install SimGrid (Debian: libsimgrid-dev), configure and "
        "build again");
  }
  return path;
}

SimulationPlan plan_of(const SimulateOptions& options) {
  const std::vector<Instance> catalog = read_instances(options.instances);
  const Instance& instance = instance_named(catalog, options.instance);
  if (options.per_node < 0) fail<UsageError>("--per-node {}: at least 1", options.per_node);
  if (!(options.timeout_seconds > 0) || std::isinf(options.timeout_seconds)) {
    fail<UsageError>("--timeout {}: must be more than 0 seconds", options.timeout_seconds);
  }
  SimulationPlan plan;
  plan.algorithms = split_list("--algorithms", options.algorithms);
  for (const std::string& name : plan.algorithms) allreduce_named(name);
  for (const std::string& size : split_list("--sizes", options.sizes)) {
    plan.sizes.push_back(parse_size("--sizes", size));
    if (plan.sizes.back() == 0 || plan.sizes.back() % sizeof(float) != 0) {
      fail<UsageError>("--sizes {}: expected multiples of {} bytes", size, sizeof(float));
    }
  }
  set_gamma(options, plan);
  plan.smpirun = options.smpirun;
  plan.program = program();
  plan.deadline_seconds = options.timeout_seconds;
  for (const int nodes : parse_counts("--nodes", options.nodes)) {
    Platform& platform = plan.platforms.emplace_back();
    platform = {
        .name = instance.name,
        .nodes = nodes,
        .ranks_per_node = options.per_node > 0 ? options.per_node : std::max(1, instance.gpus),
        .between = between(options, instance),
        .within = within(options, instance),
        .tree = tree_of(options.topology),
        .placement = placement_of(options.placement),
        .seed = options.seed};
    require_valid(platform);
  }
  return plan;
}

Manifest manifest_of(const SimulateOptions& options, const SimulationPlan& plan,
                     const std::string& run_id) {
  Manifest manifest;
  manifest.run_id = run_id;
  manifest.study = "simulate";
  manifest.origin = "predicted";
  manifest.started_utc = utc_label();
  manifest.command = options.command;
  manifest.seed = options.seed;
  manifest.config = describe(plan);
  manifest.tool = build_info();
  manifest.binaries[plan.program.filename().string()] = sha256_of_file(plan.program);
  manifest.environment = environment_here();
  return manifest;
}

ExitCode code_of(const std::vector<ResultRow>& rows, const Interruption& interruption) {
  if (interruption.stop()) return interruption.exit_code();
  const auto has = [&](std::string_view status) {
    return std::ranges::any_of(rows,
                               [&](const ResultRow& row) { return row.get("status") == status; });
  };
  if (has("failed") || has("wrong")) return ExitCode::incomplete;
  return has("ok") ? ExitCode::ok : ExitCode::nothing_measured;
}

ExitCode simulate_platforms(const SimulateOptions& options) {
  const SimulationPlan plan = plan_of(options);
  Console console(/*speaks=*/true, options.quiet);
  if (options.dry_run) {
    for (const Platform& platform : plan.platforms) {
      const std::filesystem::path folder =
          std::filesystem::path(kPlannedRun) / "launches" / name_of(platform);
      console.result(shell_line(command_of(plan, platform, folder)) + "\n");
    }
    return ExitCode::ok;
  }
  const ResultsFolder folder =
      options.out.empty()
          ? ResultsFolder::create(options.results, study_of(plan), kBytesNeededToSimulate)
          : ResultsFolder::at(options.out, kBytesNeededToSimulate);
  const Interruption interruption;
  const std::vector<ResultRow> rows = simulate(
      plan, folder, manifest_of(options, plan, folder.run_id()), interruption.stop(), console);
  const ExitCode code = code_of(rows, interruption);
  console.result(fmt::format("{}\n{}", describe(plan), simulation_table(plan, rows)));
  console.note(fmt::format("results: {}", folder.path().string()));
  return code;
}

}  // namespace

void add_simulate(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<SimulateOptions>(verb, invocation, simulate_platforms);
  verb.add_option("--instance", options.instance, "type of the nodes, as in the catalog")
      ->required();
  verb.add_option("--instances", options.instances, "a catalog instead of configs/instances.csv")
      ->type_name("FILE");
  add_shown(verb, "--nodes", options.nodes, "numbers of nodes, separated by commas");
  add_shown(verb, "--per-node", options.per_node, "ranks of a node; 0: one for each of its GPUs");
  add_shown(verb, "--algorithms", options.algorithms, "names separated by commas");
  add_shown(verb, "--sizes", options.sizes, "of one rank's buffer: " + std::string(kSizeRule));
  verb.add_option("--link", options.link,
                  "between nodes: RATE or RATE,LATENCY as 25gbit,5us, instead of the catalog's "
                  "rate and 25 us");
  verb.add_option("--within", options.within,
                  "between ranks of a node, as --link; default: the catalog's rate of one GPU, "
                  "else 80gbit, and 5 us");
  add_shown(verb, "--gamma", options.gamma, "seconds that reducing a byte costs; 0: nothing");
  takes_runs(verb.add_option("--gamma-of", options.gamma_of,
                             "take it from this measured run's kernels.csv"));
  add_shown(verb, "--topology", options.topology,
            "flat, or fat_tree:NODES_OF_A_SWITCH:OVERSUBSCRIPTION as fat_tree:16:4");
  add_shown(verb, "--placement", options.placement, "of ranks on nodes: ordered or shuffled");
  add_shown(verb, "--seed", options.seed, "of the shuffled placement");
  add_shown(verb, "--smpirun", options.smpirun, "SimGrid's launcher")->type_name("FILE");
  add_shown(verb, "--timeout", options.timeout_seconds, "real seconds that one start may take");
  add_shown(verb, "--results", options.results, "where the run's new folder goes")
      ->type_name("DIR");
  verb.add_option("--out", options.out, "the run's new folder itself")->type_name("DIR");
  verb.add_flag("--dry-run", options.dry_run, "print the exact commands and stop");
  verb.add_flag("-q,--quiet", options.quiet, "no progress");
}

}  // namespace scalebench
