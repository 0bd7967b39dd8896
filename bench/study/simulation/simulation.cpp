// SPDX-License-Identifier: Apache-2.0
#include "bench/study/simulation/simulation.hpp"

#include <fmt/format.h>
#include <re2/re2.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "bench/launch/process.hpp"
#include "bench/record/file.hpp"
#include "kernels/error.hpp"
#include "kernels/read_number.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::size_t, 5> kSizes{1U << 10, 1U << 14, 1U << 18, 1U << 22, 1U << 26};
constexpr double kDeadlineSeconds = 3600;  // of one start

/// A network of latencies and rates alone, as cost models have it: no TCP window, no
/// acknowledgements that compete with data, and no time for what ranks compute.
constexpr std::array kModel{"--cfg=network/model:CM02", "--cfg=network/crosstraffic:no",
                            "--cfg=network/TCP-gamma:0", "--cfg=smpi/simulate-computation:no",
                            "--log=root.thres:warning"};

/// For what one start reads and writes; its name is new, and nobody can know it ahead.
class StartFolder {
 public:
  StartFolder() {
    std::string name = (fs::temp_directory_path() / "scalebench-simulate-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail("cannot make the folder {}", name);
    path = name;
  }
  ~StartFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  StartFolder(const StartFolder&) = delete;
  StartFolder& operator=(const StartFolder&) = delete;

  fs::path path;
};

/// A line for each rank, with its node.
std::string host_lines(const SimulatedAllreduce& of) {
  std::string lines;
  for (int rank = 0; rank < of.ranks; ++rank) {
    lines += fmt::format("node{}\n", rank / of.per_node());
  }
  return lines;
}

}  // namespace

std::optional<FatTree> tree_of(std::string_view topology) {
  if (topology == "flat") return std::nullopt;
  static const RE2 kTree(R"(fat_tree:(\d{1,6}):(\d{1,6}))");
  FatTree tree;
  if (!RE2::FullMatch(std::string(topology), kTree, &tree.leaf_nodes, &tree.oversubscription)) {
    fail<UsageError>(
        "--topology {}: valid: flat, or fat_tree:NODES_OF_A_SWITCH:OVERSUBSCRIPTION as "
        "fat_tree:16:4",
        topology);
  }
  if (tree.leaf_nodes < 1 || tree.oversubscription < 1 ||
      tree.leaf_nodes % tree.oversubscription != 0) {
    fail<UsageError>("--topology {}: the oversubscription must divide the nodes of a switch",
                     topology);
  }
  return tree;
}

std::string platform_xml(const SimulatedAllreduce& of, const std::optional<FatTree>& tree) {
  int nodes = of.nodes;
  std::string more;
  if (of.per_node() > 1) {
    more = fmt::format(R"( loopback_bw="{}Bps" loopback_lat="{}s")", of.within.bytes_per_second,
                       of.within.latency_seconds);
  }
  if (tree && nodes > tree->leaf_nodes) {
    const int switches = (nodes + tree->leaf_nodes - 1) / tree->leaf_nodes;
    nodes = switches * tree->leaf_nodes;
    // SimGrid's words: levels; children of a switch at each; parents; parallel links.
    more += fmt::format(R"( topology="FAT_TREE" topo_parameters="2;{},{};1,{};1,1")",
                        tree->leaf_nodes, switches, tree->leaf_nodes / tree->oversubscription);
  }
  // Between two nodes of one switch lie two links, in a tree up to four. SimGrid 4.0 wants a zone
  // around a tree: without one it ends by a segmentation fault.
  return fmt::format(
      R"(<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="nodes" prefix="node" radical="0-{}" suffix="" speed="1Gf" core="{}"
             bw="{}Bps" lat="{}s" sharing_policy="SPLITDUPLEX"{}/>
  </zone>
</platform>
)",
      nodes - 1, of.per_node(), of.between.bytes_per_second, of.between.latency_seconds / 2, more);
}

SimulatedNetwork::SimulatedNetwork(std::string topology, fs::path program, Console& console,
                                   const std::atomic<bool>& stop)
    : topology_(std::move(topology)),
      tree_(tree_of(topology_)),
      program_(std::move(program)),
      console_(console),
      stop_(stop) {
  if (fs::exists(program_)) return;
  fail<UsageError>(
      "--topology {}: {} is not built: install SimGrid (Debian: libsimgrid-dev), configure and "
      "build again",
      topology_, program_.filename().string());
}

double SimulatedNetwork::seconds(const SimulatedAllreduce& of, double size_bytes) {
  auto found = curves_.find(of);
  if (found == curves_.end()) found = curves_.emplace(of, simulated(of)).first;
  const std::vector<double>& seconds = found->second;
  std::size_t i = 1;
  while (i + 1 < kSizes.size() && static_cast<double>(kSizes[i]) < size_bytes) ++i;
  const auto from = static_cast<double>(kSizes[i - 1]), to = static_cast<double>(kSizes[i]);
  const double share = std::max(0.0, (size_bytes - from) / (to - from));
  return seconds[i - 1] + share * (seconds[i] - seconds[i - 1]);
}

std::vector<double> SimulatedNetwork::simulated(const SimulatedAllreduce& of) const {
  if (stop_) fail<Unavailable>("interrupted");
  if (of.per_node() > 1 && !(of.within.bytes_per_second > 0)) {
    fail<Unavailable>("{}: no curve within a node was measured", of.algorithm);
  }
  console_.note(fmt::format("simulating {} on {} ranks of {} nodes, {}", of.algorithm, of.ranks,
                            of.nodes, topology_));
  const StartFolder folder;
  write_file_atomically(folder.path / "platform.xml", platform_xml(of, tree_));
  write_file_atomically(folder.path / "hosts.txt", host_lines(of));
  std::vector<std::string> command{"smpirun",   "-no-privatize",
                                   "-np",       std::to_string(of.ranks),
                                   "-platform", (folder.path / "platform.xml").string(),
                                   "-hostfile", (folder.path / "hosts.txt").string()};
  command.insert(command.end(), kModel.begin(), kModel.end());
  command.insert(command.end(), {program_.string(), of.algorithm});
  for (const std::size_t bytes : kSizes) command.push_back(std::to_string(bytes));
  const LaunchEnd end = run_launch(command, {}, folder.path, kDeadlineSeconds, stop_);
  if (!end.ok) fail<Unavailable>("{}: not simulated: {}", of.algorithm, end.why);
  std::vector<double> seconds;
  std::ifstream output(folder.path / "stdout.log");
  for (std::string line; std::getline(output, line);) {
    if (const auto one = read_number<double>(line)) seconds.push_back(*one);
  }
  if (seconds.size() != kSizes.size()) {
    fail<Unavailable>("{}: not simulated: {} times for {} sizes", of.algorithm, seconds.size(),
                      kSizes.size());
  }
  return seconds;
}

}  // namespace scalebench
