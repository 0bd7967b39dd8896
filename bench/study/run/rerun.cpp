// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/rerun.hpp"

#include <algorithm>

#include "bench/study/analysis/cells.hpp"

namespace scalebench {

CellsOfEntries cells_of_entries(const StoredRun& run) {
  CellsOfEntries cells;
  for (const Cell& cell : cells_of(run)) {
    cells[cell.row.get("entry")].insert(cell.key);
  }
  return cells;
}

std::vector<PlannedLaunch> plan_holding(const std::vector<PlannedLaunch>& plan,
                                        const CellsOfEntries& cells,
                                        const std::set<std::string>& wanted, std::size_t controls) {
  std::set<std::string> entries;
  std::size_t beside = 0;  // cells that nobody wants
  const auto is_wanted = [&](const std::string& cell) { return wanted.contains(cell); };
  for (const auto& [entry, own] : cells) {
    const auto count = static_cast<std::size_t>(std::ranges::count_if(own, is_wanted));
    if (count == 0) continue;
    entries.insert(entry);
    beside += own.size() - count;
  }
  if (entries.empty()) return {};
  std::vector<const PlannedLaunch*> others;
  for (const PlannedLaunch& launch : plan) {
    const bool possible = launch.round == 0 && launch.skipped_because.empty() &&
                          !entries.contains(launch.name) && cells.contains(launch.name);
    if (possible) others.push_back(&launch);
  }
  std::ranges::stable_sort(others, {}, &PlannedLaunch::guess_seconds);
  for (const PlannedLaunch* const other : others) {
    if (beside >= controls) break;
    entries.insert(other->name);
    beside += cells.at(other->name).size();
  }
  std::vector<PlannedLaunch> chosen;
  for (const PlannedLaunch& launch : plan) {
    if (!entries.contains(launch.name) || !launch.skipped_because.empty()) continue;
    chosen.push_back(launch);
    chosen.back().number = static_cast<int>(chosen.size());
  }
  return chosen;
}

}  // namespace scalebench
