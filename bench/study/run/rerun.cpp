// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/rerun.hpp"

#include <algorithm>

#include "bench/study/analysis/cells.hpp"

namespace scalebench {
namespace {

constexpr std::size_t kControls = 2;

using CellsByLaunch = std::map<std::string, std::set<std::string>>;

bool holds_any(const std::set<std::string>& cells, const std::set<std::string>& suspects) {
  return std::ranges::any_of(cells, [&](const auto& cell) { return suspects.contains(cell); });
}

std::vector<PlannedLaunch> launches_named(const std::vector<PlannedLaunch>& plan,
                                          const std::set<std::string>& names) {
  std::vector<PlannedLaunch> chosen;
  for (const PlannedLaunch& launch : plan) {
    if (!names.contains(launch.name) || !launch.skipped_because.empty()) continue;
    chosen.push_back(launch);
    chosen.back().number = static_cast<int>(chosen.size());
  }
  return chosen;
}

}  // namespace

CellsByLaunch cells_by_launch(const StoredRun& run, const std::vector<PlannedLaunch>& plan) {
  std::map<int, std::string> name_of;
  for (const PlannedLaunch& launch : plan) name_of[launch.number] = launch.name;
  CellsByLaunch cells;
  for (const auto& [file, launches] : run.launches) {
    for (const LaunchRows& launch : launches) {
      const auto name = name_of.find(launch.launch);
      if (name == name_of.end()) continue;
      for (const Cell& cell : cells_of(std::vector<LaunchRows>{launch})) {
        cells[name->second].insert(cell.key + "/seconds");
      }
    }
  }
  return cells;
}

std::vector<PlannedLaunch> rerun_plan(const std::vector<PlannedLaunch>& plan,
                                      const CellsByLaunch& cells,
                                      const std::set<std::string>& suspects) {
  std::set<std::string> chosen;
  std::size_t controls = 0;
  for (const auto& [name, own] : cells) {
    if (!holds_any(own, suspects)) continue;
    chosen.insert(name);
    controls += static_cast<std::size_t>(
        std::ranges::count_if(own, [&](const auto& cell) { return !suspects.contains(cell); }));
  }
  if (chosen.empty()) return {};
  std::vector<const PlannedLaunch*> others;
  for (const PlannedLaunch& launch : plan) {
    const bool possible = launch.round == 0 && launch.skipped_because.empty() &&
                          !chosen.contains(launch.name) && cells.contains(launch.name);
    if (possible) others.push_back(&launch);
  }
  std::ranges::stable_sort(others, {}, &PlannedLaunch::guess_seconds);
  for (const PlannedLaunch* const other : others) {
    if (controls >= kControls) break;
    chosen.insert(other->name);
    controls += cells.at(other->name).size();
  }
  return launches_named(plan, chosen);
}

std::vector<PlannedLaunch> plan_holding(const std::vector<PlannedLaunch>& plan,
                                        const CellsByLaunch& cells,
                                        const std::set<std::string>& wanted) {
  std::set<std::string> names;
  for (const auto& [name, own] : cells) {
    if (holds_any(own, wanted)) names.insert(name);
  }
  return launches_named(plan, names);
}

}  // namespace scalebench
