// SPDX-License-Identifier: Apache-2.0
#include "bench/study/simulation/platform.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/error.hpp"

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
  double gigabytes = 0;
  if (!re2::RE2::PartialMatch(std::string(words),
                              R"(([0-9]+(?:\.[0-9]+)?) GB/s (?:total )?per GPU)", &gigabytes)) {
    return std::nullopt;
  }
  return gigabytes * 1e9 / 2;
}

std::optional<double> ring_seconds(const Platform& platform, double bytes,
                                   double reduce_seconds_per_byte) {
  if (platform.tree || platform.placement == RankPlacement::shuffled) return std::nullopt;
  const double p = platform.ranks(), chunk = bytes / p;
  const auto step = [&](const SimulatedLink& link) {
    return link.latency_seconds + chunk / link.bytes_per_second;
  };
  double slowest = 0;
  if (platform.nodes > 1) slowest = step(platform.between);
  if (platform.ranks_per_node > 1) slowest = std::max(slowest, step(platform.within));
  return 2 * (p - 1) * slowest + (p - 1) * chunk * reduce_seconds_per_byte;
}

}  // namespace scalebench
