// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/night.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "bench/measure/statistics.hpp"
#include "bench/study/analysis/scaling.hpp"

namespace scalebench {
namespace {

constexpr double kFloor = 0.03;
constexpr double kLatencyFloor = 0.05;

NightCell described(const Cell& cell) {
  NightCell night;
  night.key = cell.key + "/seconds";
  night.case_id = cell.row.get("case_id");
  night.origin = cell.row.get("origin");
  night.bench = cell.key.substr(0, cell.key.find('/'));
  night.family = name_of(cell.family);
  night.label = label_of(cell.row);
  night.ranks = text_in(cell.row, "ranks");
  night.floor = cell.family == CellFamily::latency ? kLatencyFloor : kFloor;
  night.status = cell.status;
  night.note = cell.note;
  night.value = std::numeric_limits<double>::quiet_NaN();
  return night;
}

NightCell time_of(const Cell& cell) {
  NightCell night = described(cell);
  if (!cell.measured()) return night;
  night.launches = cell.seconds;
  night.value = median_of(cell.seconds);
  return night;
}

/// How many ranks' work a row did, relative to another: 1 unless one of them says otherwise.
double work_ratio(const ResultRow& leg, const ResultRow& one) {
  if (text_in(leg, "samples").empty() || text_in(one, "samples").empty()) return 1;
  return number_in(leg, "samples") / number_in(one, "samples");
}

bool is_base_of(const Cell& one, const Cell& leg) {
  if (one.family != leg.family || text_in(one.row, "ranks") != "1" || !one.measured()) return false;
  if (one.row.get("origin") != leg.row.get("origin")) return false;
  if (leg.family == CellFamily::throughput) {
    return one.row.get("case_id") == leg.row.get("case_id");
  }
  return one.row.get("gradient_sync") == "one_device" && !is_share(one.row) &&
         comparable(leg.row, one.row);
}

/// Among several bases, that of the most similar amount of work.
const Cell* base_of(const Cell& leg, const std::vector<Cell>& cells) {
  const Cell* nearest = nullptr;
  const auto distance = [&](const Cell& one) { return std::abs(work_ratio(leg.row, one.row) - 1); };
  for (const Cell& one : cells) {
    if (!is_base_of(one, leg)) continue;
    if (nearest == nullptr || distance(one) < distance(*nearest)) nearest = &one;
  }
  return nearest;
}

NightCell efficiency_of(const Cell& leg, const Cell& one) {
  NightCell night = described(leg);
  night.key = leg.key + "/efficiency";
  night.metric = "efficiency";
  night.floor = kFloor;
  night.time_key = leg.key + "/seconds";
  night.base_key = one.key + "/seconds";
  // Weak scaling does N times the work: of throughput every rank's step is a step of its own.
  const double rho = leg.family == CellFamily::throughput ? number_in(leg.row, "ranks")
                                                          : work_ratio(leg.row, one.row);
  const double factor = rho / number_in(leg.row, "ranks");
  if (leg.seconds.size() == one.seconds.size()) {
    for (std::size_t round = 0; round < leg.seconds.size(); ++round) {
      night.launches.push_back(factor * one.seconds[round] / leg.seconds[round]);
    }
    night.value = median_of(night.launches);
  } else {
    night.value = factor * median_of(one.seconds) / median_of(leg.seconds);
    night.note = "T(1) and T(N) have different numbers of launches: their medians are compared";
  }
  return night;
}

}  // namespace

double NightCell::y() const {
  if (status != "ok" || !(value > 0)) return std::numeric_limits<double>::quiet_NaN();
  return is_time() ? -std::log(value) : std::log(value);
}

std::vector<NightCell> efficiency_cells(const std::vector<Cell>& cells) {
  std::vector<NightCell> found;
  for (const Cell& leg : cells) {
    const bool scales = leg.family == CellFamily::epoch || leg.family == CellFamily::throughput;
    if (!scales || !leg.measured() || text_in(leg.row, "ranks") == "1" ||
        (leg.family == CellFamily::epoch && is_share(leg.row))) {
      continue;
    }
    if (const Cell* const one = base_of(leg, cells)) found.push_back(efficiency_of(leg, *one));
  }
  return found;
}

Night night_of(const StoredRun& run) {
  Night night{run.manifest.run_id, run.manifest.started_utc, {}};
  const std::vector<Cell> cells = cells_of(run);
  for (const Cell& cell : cells) night.cells.push_back(time_of(cell));
  std::vector<NightCell> efficiencies = efficiency_cells(cells);
  std::move(efficiencies.begin(), efficiencies.end(), std::back_inserter(night.cells));
  return night;
}

}  // namespace scalebench
