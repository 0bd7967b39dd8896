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

/// By entry of the plan: the keys of the cells that it measured.
using CellsOfEntries = std::map<std::string, std::set<std::string>>;
CellsOfEntries cells_of_entries(const StoredRun& run);

/// Of suspects there are at least so many cells beside them.
inline constexpr std::size_t kControls = 2;

/// Of `plan`, all rounds, the launches that hold one of `wanted`, and as many of the shortest
/// others as it takes for `controls` cells beside these; numbered anew. Empty when none is held.
std::vector<PlannedLaunch> plan_holding(const std::vector<PlannedLaunch>& plan,
                                        const CellsOfEntries& cells,
                                        const std::set<std::string>& wanted,
                                        std::size_t controls = 0);

}  // namespace scalebench
