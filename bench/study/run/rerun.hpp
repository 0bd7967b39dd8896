// SPDX-License-Identifier: Apache-2.0
// Which launches of a plan measure some of its cells: those that hold one; of suspects, controls
// too, so that a machine that is slow just now is not taken for a slow cell.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/plan/plan.hpp"

namespace scalebench {

/// Which time cells ("epoch/3f2a90b1c4d5/2/seconds") the launches of each name measured.
std::map<std::string, std::set<std::string>> cells_by_launch(
    const StoredRun& run, const std::vector<PlannedLaunch>& plan);

/// Of `plan`, all rounds, the launches that hold one of `wanted`; numbered anew.
std::vector<PlannedLaunch> plan_holding(const std::vector<PlannedLaunch>& plan,
                                        const std::map<std::string, std::set<std::string>>& cells,
                                        const std::set<std::string>& wanted);

/// Of `plan`, all rounds, the launches that hold a suspect and as many of the shortest others as it
/// takes for two controls; numbered anew. Empty when no launch holds a suspect.
std::vector<PlannedLaunch> rerun_plan(const std::vector<PlannedLaunch>& plan,
                                      const std::map<std::string, std::set<std::string>>& cells,
                                      const std::set<std::string>& suspects);

}  // namespace scalebench
