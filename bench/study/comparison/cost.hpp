// SPDX-License-Identifier: Apache-2.0
// What an epoch costs on an instance type: the run's cells in, the `costs` of compare.json out.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/measure/statistics.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/comparison/instances.hpp"

namespace scalebench {

/// One case of a run, as if it had been on instances of a type.
struct Cost {
  Instance instance;
  std::string run_id, case_id, origin;
  std::string status = "ok", note{};
  std::string workload{};  // "resnet50 imagenet strong"
  std::string label{};     // of the cell
  int ranks = 0;
  double nodes = 1;               // instances that are paid
  bool whole = false;             // the ranks fill them; a part of one is billed as a whole one
  double images = std::nan("");   // of an epoch; NaN: an import does not say
  std::vector<double> seconds{};  // for them, of each launch
  bool efficient = false;         // nothing else of the workload is as fast and as cheap

  bool is_timed() const { return status == "ok" && !seconds.empty(); }
  /// The median of the launches, with its interval.
  LaunchInterval time() const { return across_launches(seconds); }
  double usd_per_second() const { return instance.usd_per_hour * nodes / 3600; }
  double usd() const { return usd_per_second() * time().value; }
};

/// The run's epochs, each by all ranks together, were it on this type. Instances are N over what
/// one holds, rounded up: GPUs, or vCPUs over `threads` of a rank; a run that was really spread
/// over more is charged for those. Emulated cells have no cost. Throws UsageError where a cell
/// cannot be of such instances: another GPU, or more ranks on a node than one holds.
std::vector<Cost> costs_of(const std::string& run_id, const std::vector<Cell>& cells,
                           const Instance& instance);

/// Sets `efficient` among the whole instances of each workload and origin.
void mark_efficient(std::vector<Cost>& costs);

/// One of the `costs` of compare.json.
nlohmann::json json_of(const Cost& cost);

}  // namespace scalebench
