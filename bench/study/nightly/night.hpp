// SPDX-License-Identifier: Apache-2.0
// One night's run as the gate sees it: per cell and metric one number, that of the launch in the
// middle. Times are a metric of every cell; efficiency is one where a run also measured its base on
// one rank.
#pragma once

#include <string>
#include <vector>

#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/stored_run.hpp"

namespace scalebench {

struct NightCell {
  std::string key;  // the cell's, with the metric: "epoch/3f2a90b1c4d5/2/efficiency"
  std::string case_id;
  std::string origin;
  std::string bench;
  std::string family;  // "latency", ...
  std::string label;   // for people
  std::string ranks;
  std::string metric = "seconds";  // or efficiency
  double floor = 0.03;             // smallest relative change that counts
  std::string status = "ok";       // else that of the cell
  std::string note;
  std::vector<double> launches;  // the metric's value in each launch
  double value = 0;              // their median; NaN unless status is ok
  std::string time_key;          // efficiency: the cells of T(N)
  std::string base_key;          //             and of T(1)

  bool is_time() const { return metric == "seconds"; }
  /// As a logarithm in which larger is better.
  double y() const;
};

struct Night {
  std::string run_id;
  std::string started_utc;
  std::vector<NightCell> cells;
};

Night night_of(const StoredRun& run);

/// E = rho T(1) / (N T(N)) of cells that are of one run: of each epoch against one_device on one
/// rank, of each throughput step against the same step of one rank. Launches are paired by round
/// where both have as many, which takes out what changes during the night.
std::vector<NightCell> efficiency_cells(const std::vector<Cell>& cells);

}  // namespace scalebench
