// SPDX-License-Identifier: Apache-2.0
#include "bench/study/gate_build.hpp"

#include <cmath>
#include <unordered_map>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

/// When a run began: as its manifest says, else as its name does ("20260301T040506Z-...").
std::string start_of(const RunHistory& history, const std::string& run) {
  if (const auto found = history.started.find(run); found != history.started.end()) {
    return found->second;
  }
  if (run.size() < 16 || run[8] != 'T' || run[15] != 'Z') return "";
  return run.substr(0, 4) + "-" + run.substr(4, 2) + "-" + run.substr(6, 2) + "T" +
         run.substr(9, 2) + ":" + run.substr(11, 2) + ":" + run.substr(13, 2) + "Z";
}

void add_values(std::vector<double> GateSeries::*values, const std::vector<NightCell>& cells,
                std::size_t night, const std::unordered_map<std::string, std::size_t>& place_of,
                GateSeriesSet& set) {
  for (const NightCell& cell : cells) {
    const auto found = place_of.find(cell.key);
    if (found != place_of.end()) (set.cells[found->second].*values)[night] = cell.y();
  }
}

}  // namespace

int segment_of(const GateInput& input, const NightCell& cell, const Night& night) {
  int segment = 0;
  for (const Annotation& accepted : input.annotations.accepted) {
    if (!matches(accepted.cells, cell.label, cell.key)) continue;
    const std::string start =
        accepted.run == night.run_id ? night.started_utc : start_of(input.history, accepted.run);
    // What nobody can place in time accepts nothing: an alarm too many, not one too few.
    if (!start.empty() && start <= night.started_utc) ++segment;
  }
  return segment;
}

GateTable gate_table(const GateInput& input) {
  GateTable table;
  std::vector<const Night*> nights;
  for (const Night& night : input.history.nights) nights.push_back(&night);
  nights.push_back(&input.tonight);

  std::unordered_map<std::string, std::size_t> place_of;
  for (auto night = nights.rbegin(); night != nights.rend(); ++night) {
    for (const NightCell& cell : (*night)->cells) {
      if (!place_of.emplace(cell.key, table.last.size()).second) continue;
      table.last.push_back(&cell);
      table.tonight.push_back(*night == nights.back() ? &cell : nullptr);
    }
  }
  table.set.rerun_shift.assign(nights.size(), kNotMeasured);
  for (const NightCell* const cell : table.last) {
    GateSeries& series = table.set.cells.emplace_back();
    series.family = cell->metric + "/" + cell->family;
    series.floor = cell->floor;
    series.moves_with_host = cell->is_time();
    series.y.assign(nights.size(), kNotMeasured);
    series.rerun.assign(nights.size(), kNotMeasured);
    for (const Night* const night : nights)
      series.segment.push_back(segment_of(input, *cell, *night));
  }
  for (std::size_t k = 0; k < nights.size(); ++k) {
    add_values(&GateSeries::y, nights[k]->cells, k, place_of, table.set);
    const auto rerun = input.history.reruns.find(nights[k]->run_id);
    if (rerun == input.history.reruns.end()) continue;
    add_values(&GateSeries::rerun, rerun->second.cells, k, place_of, table.set);
  }
  if (!input.history.pinned) return table;
  for (const NightCell& cell : input.history.pinned->cells) {
    const auto found = place_of.find(cell.key);
    if (found != place_of.end()) table.set.cells[found->second].pinned = cell.y();
  }
  return table;
}

double shift_of_rerun(const GateSeriesSet& set, const NightBaseline& baseline,
                      const NightTest& test, std::size_t night) {
  std::vector<double> shifts;
  for (std::size_t c = 0; c < set.cells.size(); ++c) {
    const GateSeries& cell = set.cells[c];
    const bool control = cell.moves_with_host && baseline.cells[c].enough &&
                         test.cells[c].signal != Signal::worse && !std::isnan(cell.rerun[night]);
    if (control) shifts.push_back(cell.rerun[night] - baseline.cells[c].level);
  }
  const double shift = median_of(shifts);
  if (shifts.size() >= kFewestForHost) return shift;
  // A few controls are too noisy to correct by, but can tell that the machine was another one.
  const bool clear = shifts.size() >= 2 && std::abs(std::expm1(shift)) > kHostAlarm;
  return clear ? shift : kNotMeasured;
}

}  // namespace scalebench
