// SPDX-License-Identifier: Apache-2.0
// What an allreduce takes between nodes on switches that nobody has: one start of SimGrid's smpirun
// on simulate_allreduce, which runs the suite's own algorithm on a described platform.
#pragma once

#include <atomic>
#include <compare>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/console.hpp"

namespace scalebench {

struct SimulatedLink {
  double bytes_per_second = 0;  // in each direction
  double latency_seconds = 0;   // from one end to the other
  auto operator<=>(const SimulatedLink&) const = default;
};

/// Two levels of switches: each leaf switch has `leaf_nodes` nodes and, for `oversubscription` of
/// them, one link of the same rate upwards.
struct FatTree {
  int leaf_nodes = 1;
  int oversubscription = 1;
};

/// "flat": nothing, one switch that all nodes use without contention; "fat_tree:16:4". Throws
/// UsageError for anything else.
std::optional<FatTree> tree_of(std::string_view topology);

/// Ranks go through the nodes in their order, and fill one after the other.
struct SimulatedAllreduce {
  std::string algorithm;
  int ranks = 2;
  int nodes = 2;
  SimulatedLink between;   // node to node, both links of the way together
  SimulatedLink within{};  // rank to rank of one node; each pair has its own
  auto operator<=>(const SimulatedAllreduce&) const = default;

  int per_node() const { return (ranks + nodes - 1) / nodes; }
};

/// The platform file. A tree has as many leaf switches as the nodes need.
std::string platform_xml(const SimulatedAllreduce& of, const std::optional<FatTree>& tree);

class SimulatedNetwork {
 public:
  /// `program`: simulate_allreduce. Throws UsageError for an unknown topology, and where the
  /// program was not built. What a simulation is of goes to `console`, which outlives this, as
  /// `stop` does.
  SimulatedNetwork(std::string topology, std::filesystem::path program, Console& console,
                   const std::atomic<bool>& stop);

  /// Seconds until the last rank has all messages; what ranks compute takes none. Simulated once
  /// for a few sizes, and straight between them. Throws Unavailable, with the reason.
  double seconds(const SimulatedAllreduce& of, double size_bytes);

 private:
  std::vector<double> simulated(const SimulatedAllreduce& of) const;

  std::string topology_;
  std::optional<FatTree> tree_;
  std::filesystem::path program_;
  Console& console_;
  const std::atomic<bool>& stop_;
  std::map<SimulatedAllreduce, std::vector<double>> curves_;
};

}  // namespace scalebench
