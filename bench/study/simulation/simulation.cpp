// SPDX-License-Identifier: Apache-2.0
#include "bench/study/simulation/simulation.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>
#include <ranges>

#include "bench/cli/quantity.hpp"
#include "bench/launch/process.hpp"
#include "bench/record/file.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/import/imported_rows.hpp"
#include "collectives/steps.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

/// Shuffled alike by every standard library.
std::vector<int> node_order(const Platform& platform) {
  std::vector<int> order(static_cast<std::size_t>(platform.nodes));
  std::iota(order.begin(), order.end(), 0);
  if (platform.placement == RankPlacement::ordered) return order;
  std::mt19937_64 random(platform.seed);
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[random() % left]);
  }
  return order;
}

/// SimGrid's words: levels; children of a switch at each; parents; parallel links.
std::string topology_of(const Platform& platform) {
  if (!platform.tree) return "";
  const FatTree& tree = *platform.tree;
  return fmt::format(R"( topology="FAT_TREE" topo_parameters="2;{},{};1,{};1,1")", tree.leaf_nodes,
                     platform.nodes / tree.leaf_nodes, tree.leaf_nodes / tree.oversubscription);
}

/// Of a name that may hold anything into a comment, which must hold no "--".
std::string comment(std::string text) {
  std::ranges::replace(text, '-', '_');
  return text;
}

}  // namespace

void require_valid(const Platform& platform) {
  if (!platform.tree) return;
  const FatTree& tree = *platform.tree;
  const bool divides = tree.leaf_nodes > 0 && tree.oversubscription > 0 &&
                       platform.nodes % tree.leaf_nodes == 0 &&
                       tree.leaf_nodes % tree.oversubscription == 0;
  if (!divides || platform.nodes == tree.leaf_nodes) {
    fail<UsageError>(
        "fat_tree:{}:{} with {} nodes: the nodes must fill several leaf switches, and "
        "the oversubscription must divide the nodes of one",
        tree.leaf_nodes, tree.oversubscription, platform.nodes);
  }
}

std::string platform_xml(const Platform& platform) {
  // Between two nodes of one switch lie two links, in a tree up to four. SimGrid 4.0 wants a zone
  // around a tree: without one it ends by a segmentation fault.
  return fmt::format(
      R"(<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- {} nodes of {}, {} ranks each.
     between nodes: {} bytes/s, {} s through one switch ({});
     within a node: {} bytes/s, {} s ({}) -->
<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="nodes" prefix="node" radical="0-{}" suffix="" speed="1Gf" core="{}"
             bw="{}Bps" lat="{}s" sharing_policy="SPLITDUPLEX"
             loopback_bw="{}Bps" loopback_lat="{}s"{}/>
  </zone>
</platform>
)",
      platform.nodes, comment(platform.name), platform.ranks_per_node,
      platform.between.bytes_per_second, platform.between.latency_seconds,
      comment(platform.between.source), platform.within.bytes_per_second,
      platform.within.latency_seconds, comment(platform.within.source), platform.nodes - 1,
      platform.ranks_per_node, platform.between.bytes_per_second,
      platform.between.latency_seconds / 2, platform.within.bytes_per_second,
      platform.within.latency_seconds, topology_of(platform));
}

std::string host_lines(const Platform& platform) {
  std::string lines;
  for (const int node : node_order(platform)) {
    for (int rank = 0; rank < platform.ranks_per_node; ++rank) {
      lines += fmt::format("node{}\n", node);
    }
  }
  return lines;
}

std::optional<double> interconnect_rate(std::string_view words) {
  static const re2::RE2 kPerGpu(R"(([0-9]+(?:\.[0-9]+)?) GB/s (?:total )?per GPU)");
  double gigabytes = 0;
  if (!re2::RE2::PartialMatch(std::string(words), kPerGpu, &gigabytes)) return std::nullopt;
  return gigabytes * 1e9 / 2;
}

std::optional<double> ring_seconds(const Platform& platform, double bytes,
                                   double reduce_seconds_per_byte) {
  if (platform.tree || platform.placement == RankPlacement::shuffled) return std::nullopt;
  // Chunks are whole cache lines: of a short buffer the last ones are empty, and are not sent. All
  // wait for the first, which is the longest.
  const ConstSpan buffer{nullptr, static_cast<std::size_t>(bytes) / sizeof(float)};
  const int ranks = platform.ranks();
  if (range_of_chunks(buffer, ranks - 1, 1, ranks).count == 0) return std::nullopt;
  const double p = ranks;
  const auto chunk =
      static_cast<double>(range_of_chunks(buffer, 0, 1, ranks).count * sizeof(float));
  const auto step = [&](const SimulatedLink& link) {
    return link.latency_seconds + chunk / link.bytes_per_second;
  };
  double slowest = 0;
  if (platform.nodes > 1) slowest = step(platform.between);
  if (platform.ranks_per_node > 1) slowest = std::max(slowest, step(platform.within));
  return 2 * (p - 1) * slowest + (p - 1) * chunk * reduce_seconds_per_byte;
}

namespace {

// Filling and checking inputs costs real time, which grows with the square of the ranks.
constexpr std::size_t kCheckedBytes = 64U << 20U;  // of all ranks together

/// A network of latencies and rates alone, as cost models have it: no TCP window, no
/// acknowledgements that compete with data, and no time for what ranks compute.
constexpr std::array kModel{"--cfg=network/model:CM02",      "--cfg=network/crosstraffic:no",
                            "--cfg=network/TCP-gamma:0",     "--cfg=smpi/simulate-computation:no",
                            "--cfg=smpi/coll-selector:ompi", "--log=root.thres:warning"};

bool is_checked(const Platform& platform, std::size_t bytes) {
  return bytes * static_cast<std::size_t>(platform.ranks()) <= kCheckedBytes;
}

ResultRow case_row(const Platform& platform, std::string_view algorithm, std::size_t bytes) {
  ResultRow row(allreduce_schema());
  row.set("algorithm", algorithm).set("transport", "mpi").set("memory", "host");
  row.set("dtype", "float").set("op", "sum").set("placement", "in_place");
  row.set("mode", "isolated").set("operations", 1).set("size_bytes", bytes);
  row.set("ranks", platform.ranks()).set("nodes", platform.nodes);
  return row;
}

/// One line that simulate_allreduce printed; nothing for any other line.
std::optional<ImportedCase> case_in(const std::string& line, const Platform& platform) {
  static const RE2 kCells(R"(([^\t]*)\t(\d+)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*))");
  std::string algorithm, status, seconds, wrong, note;
  std::size_t bytes = 0;
  if (!RE2::FullMatch(line, kCells, &algorithm, &bytes, &status, &seconds, &wrong, &note)) {
    return std::nullopt;
  }
  ImportedCase one{case_row(platform, algorithm, bytes), {}, {}};
  const bool unchecked = wrong.empty() && status == "ok";
  one.row.set("status", status).set("wrong", wrong);
  one.row.set("note", unchecked ? "not checked: too much data for all ranks" : note);
  if (const auto time = read_number<double>(seconds)) one.seconds.push_back(*time);
  return one;
}

/// What was printed, and a `failed` row for each case that was not.
std::vector<ImportedCase> cases_of(const SimulationPlan& plan, const Platform& platform,
                                   const std::filesystem::path& output, const std::string& why) {
  std::vector<ImportedCase> cases;
  std::ifstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (auto one = case_in(line, platform)) cases.push_back(std::move(*one));
  }
  std::size_t at = 0;
  for (const std::size_t bytes : plan.sizes) {
    for (const std::string& algorithm : plan.algorithms) {
      if (at++ < cases.size()) continue;
      cases.push_back({case_row(platform, algorithm, bytes), {}, {}});
      cases.back()
          .row.set("status", "failed")
          .set("note", why.empty() ? "it printed nothing" : why);
    }
  }
  return cases;
}

struct Start {
  std::filesystem::path folder;
  LaunchRecord record;
  NumberedLaunch rows;
};

Start start_one(const SimulationPlan& plan, const Platform& platform, int number,
                const ResultsFolder& run, const std::atomic<bool>& stop) {
  const std::string name = name_of(platform);
  const std::filesystem::path folder = run.make_launch(number, name);
  write_file_atomically(folder / "platform.xml", platform_xml(platform));
  write_file_atomically(folder / "hosts.txt", host_lines(platform));
  Start start{folder, {}, {}};
  start.record.number = number;
  start.record.program = plan.program.filename().string();
  start.record.ranks = platform.ranks();
  start.record.name = name;
  start.record.command = command_of(plan, platform, folder);
  const LaunchEnd end = run_launch(start.record.command, {}, folder, plan.deadline_seconds, stop);
  start.record.status = end.interrupted ? "interrupted" : end.ok ? "ok" : "failed";
  start.record.note = end.why;
  start.record.seconds = end.seconds;
  start.rows = {number,
                name,
                {cases_of(plan, platform, folder / "stdout.log", end.why), start.record.command}};
  return start;
}

std::string show_link(const SimulatedLink& link) {
  return fmt::format("{:g} GB/s and {:g} us ({})", link.bytes_per_second * 1e-9,
                     link.latency_seconds * 1e6, link.source);
}

std::string formula_of(const SimulationPlan& plan, const ResultRow& row) {
  if (row.get("algorithm") != "ring") return "";
  for (const Platform& platform : plan.platforms) {
    if (std::to_string(platform.nodes) != row.get("nodes")) continue;
    const auto seconds =
        ring_seconds(platform, number_in(row, "size_bytes"), plan.reduce_seconds_per_byte);
    if (seconds) return fmt::format("{:.3f}", *seconds * 1e3);
  }
  return "";
}

}  // namespace

std::string name_of(const Platform& platform) {
  return plain_name(fmt::format("{}-n{}", platform.name, platform.ranks()));
}

std::string study_of(const SimulationPlan& plan) {
  return fmt::format("simulate-{}", plain_name(plan.platforms.front().name));
}

std::string describe(const SimulationPlan& plan) {
  const Platform& one = plan.platforms.front();
  const std::string tree = one.tree ? fmt::format(" in a fat tree, {} nodes a switch, {}:1",
                                                  one.tree->leaf_nodes, one.tree->oversubscription)
                                    : "";
  return fmt::format(
      "simulated, not measured (SimGrid {}, origin predicted): {}, {} rank(s) a node{}{}; between "
      "nodes {}, within a node {}; {}",
      SCALEBENCH_SIMGRID_VERSION, one.name, one.ranks_per_node, tree,
      one.placement == RankPlacement::shuffled ? ", nodes shuffled" : "", show_link(one.between),
      show_link(one.within), plan.reduce_source);
}

std::vector<std::string> command_of(const SimulationPlan& plan, const Platform& platform,
                                    const std::filesystem::path& folder) {
  std::vector<std::string> command{plan.smpirun, "-no-privatize",
                                   "-np",        std::to_string(platform.ranks()),
                                   "-platform",  (folder / "platform.xml").string(),
                                   "-hostfile",  (folder / "hosts.txt").string()};
  command.insert(command.end(), kModel.begin(), kModel.end());
  command.push_back(plan.program.string());
  command.insert(command.end(), {"--gamma", fmt::format("{}", plan.reduce_seconds_per_byte)});
  for (const std::size_t bytes : plan.sizes) {
    for (const std::string& algorithm : plan.algorithms) {
      command.push_back(fmt::format("{}:{}{}", algorithm, bytes,
                                    is_checked(platform, bytes) ? "" : ":unchecked"));
    }
  }
  return command;
}

std::vector<ResultRow> simulate(const SimulationPlan& plan, const ResultsFolder& folder,
                                Manifest manifest, const std::atomic<bool>& stop,
                                Console& console) {
  write_manifest(folder.path(), manifest);
  std::vector<NumberedLaunch> launches;
  std::vector<std::filesystem::path> folders;
  for (const Platform& platform : plan.platforms) {
    if (stop) break;
    const std::size_t done = launches.size();
    console.progress(done + 1, plan.platforms.size(), name_of(platform), -1);
    Start start = start_one(plan, platform, static_cast<int>(done) + 1, folder, stop);
    console.clear_progress();
    if (start.record.status == "failed") console.warn(start.record.note);
    manifest.launches.push_back(std::move(start.record));
    launches.push_back(std::move(start.rows));
    folders.push_back(std::move(start.folder));
  }
  const ImportedRows rows = imported_rows(launches, allreduce_schema(),
                                          {folder.run_id(), manifest.origin, describe(plan)});
  const bool whole = std::ranges::all_of(
      manifest.launches, [](const LaunchRecord& record) { return record.status == "ok"; });
  write_rows(folder.path(), folders, rows, allreduce_schema(), std::move(manifest),
             whole ? "complete" : "partial");
  return rows.cases;
}

std::string simulation_table(const SimulationPlan& plan, const std::vector<ResultRow>& rows) {
  std::string table =
      fmt::format("{:>6} {:>6} {:<20} {:>10} {:>14} {:>14} {:>13}  {}\n", "nodes", "ranks",
                  "algorithm", "size", "time (ms)", "formula (ms)", "busbw (GB/s)", "checked");
  for (const ResultRow& row : rows) {
    const bool ok = row.get("status") == "ok";
    table += fmt::format(
        "{:>6} {:>6} {:<20} {:>10} {:>14} {:>14} {:>13}  {}\n", row.get("nodes"), row.get("ranks"),
        row.get("algorithm"), show_size(std::stoull(row.get("size_bytes"))),
        ok ? fmt::format("{:.3f}", number_in(row, "seconds_median") * 1e3) : "-",
        formula_of(plan, row),
        row.get("busbw_gb_per_s").empty() ? "-"
                                          : fmt::format("{:.3f}", number_in(row, "busbw_gb_per_s")),
        !ok                        ? fmt::format("{}: {}", row.get("status"), row.get("note"))
        : row.get("wrong").empty() ? "no"
                                   : "exact");
  }
  return table;
}

}  // namespace scalebench
