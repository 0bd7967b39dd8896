// SPDX-License-Identifier: Apache-2.0
// A simulation as a run of its own: for each number of nodes a platform file (nodes of an instance
// type, the link that each has to a switch or to a fat tree of switches, and what connects the
// ranks within a node), one start of smpirun on simulate_allreduce, and what it printed as rows of
// allreduce.csv with origin `predicted`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"
#include "bench/record/results_folder.hpp"

namespace scalebench {

struct SimulatedLink {
  double bytes_per_second = 0;  // in each direction
  double latency_seconds = 0;   // from one end to the other
  std::string source;           // "the catalog", "assumed", "--link"
};

/// Two levels of switches: each leaf switch has `leaf_nodes` nodes and, for `oversubscription` of
/// them, one link of the same rate upwards.
struct FatTree {
  int leaf_nodes = 1;
  int oversubscription = 1;
};

/// Whether the ranks go through the nodes in their order, or through nodes in a shuffled one, as a
/// scheduler hands them out. The ranks of a node stay together.
enum class RankPlacement : std::uint8_t { ordered, shuffled };

struct Platform {
  std::string name;  // of the instance type
  int nodes = 1;
  int ranks_per_node = 1;
  SimulatedLink between;          // node to node, both links of the way together
  SimulatedLink within;           // rank to rank of one node; each pair has its own
  std::optional<FatTree> tree{};  // none: one switch that all nodes use without contention
  RankPlacement placement = RankPlacement::ordered;
  std::uint64_t seed = 1;  // of the shuffled placement

  int ranks() const { return nodes * ranks_per_node; }
};

/// Throws UsageError for a tree that these nodes do not fill.
void require_valid(const Platform& platform);

/// The platform file, with what was assumed as comments.
std::string platform_xml(const Platform& platform);

/// A line for each rank, with its node.
std::string host_lines(const Platform& platform);

/// Bytes per second in each direction out of a catalog's words ("NVLink 2.0 (300 GB/s per GPU)":
/// both directions together, as NVIDIA counts); nothing where they hold no number for one GPU.
std::optional<double> interconnect_rate(std::string_view words);

/// What a ring allreduce of `bytes` takes there: 2(p-1) steps of one p-th, in whole cache lines,
/// over the slowest link, and p-1 reductions of it. Nothing where that is not exact: in a tree, or
/// shuffled.
std::optional<double> ring_seconds(const Platform& platform, double bytes,
                                   double reduce_seconds_per_byte);

struct SimulationPlan {
  std::vector<Platform> platforms;  // one start each
  std::vector<std::string> algorithms;
  std::vector<std::size_t> sizes;  // bytes
  double reduce_seconds_per_byte = 0;
  std::string reduce_source;  // "reductions cost nothing", ...
  std::string smpirun = "smpirun";
  std::filesystem::path program;   // simulate_allreduce
  double deadline_seconds = 3600;  // of one start
};

/// "simulate-p3.8xlarge": of the run's folder.
std::string study_of(const SimulationPlan& plan);

/// One line: what is simulated, and that it is.
std::string describe(const SimulationPlan& plan);

/// argv of one start, whose platform file and hostfile are in `folder`.
std::vector<std::string> command_of(const SimulationPlan& plan, const Platform& platform,
                                    const std::filesystem::path& folder);

/// "p3.8xlarge-n64": the folder of a start, after its number.
std::string name_of(const Platform& platform);

/// Starts all of them and writes, as an import does, launches/, samples.csv, allreduce.csv and the
/// manifest, sealed when nothing failed and `stop` stayed false. Returns the rows of allreduce.csv.
/// `manifest` has what is known before.
std::vector<ResultRow> simulate(const SimulationPlan& plan, const ResultsFolder& folder,
                                Manifest manifest, const std::atomic<bool>& stop, Console& console);

/// The rows beside what the alpha-beta formula says of a ring, where it is exact.
std::string simulation_table(const SimulationPlan& plan, const std::vector<ResultRow>& rows);

}  // namespace scalebench
