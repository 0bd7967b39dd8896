// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/table.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

using Places = std::unordered_map<std::string, std::size_t>;

std::vector<const Night*> nights_in(const GateInput& input) {
  std::vector<const Night*> nights;
  for (const Night& night : input.history.nights) nights.push_back(&night);
  nights.push_back(&input.tonight);
  return nights;
}

/// What ran beside a night; null: nothing.
const BesideNight* beside_of(const GateInput& input, const Night& night) {
  if (&night == &input.tonight) return input.beside ? &*input.beside : nullptr;
  const auto found = input.history.beside.find(night.run_id);
  return found == input.history.beside.end() ? nullptr : &found->second;
}

void describe(GateSeries& series, const NightCell& cell) {
  series.family = cell.metric + "/" + cell.family;
  series.floor = cell.floor;
  series.moves_with_host = cell.is_time();
}

void add_values(std::vector<double> GateSeries::*values, const std::vector<NightCell>& cells,
                std::size_t night, const Places& place_of, GateSeriesSet& set) {
  for (const NightCell& cell : cells) {
    const auto found = place_of.find(cell.key);
    if (found != place_of.end()) (set.cells[found->second].*values)[night] = cell.y();
  }
}

/// How much longer a cell took than beside it, one logarithm a round; of an efficiency, which is of
/// two times, by both.
std::vector<double> rounds_of(const NightCell& cell, const CellRatios& ratios) {
  const auto of = [&](const std::string& key) -> std::vector<double> {
    const auto found = ratios.find(key);
    return found == ratios.end() ? std::vector<double>{} : found->second;
  };
  std::vector<double> rounds;
  if (cell.is_time()) {
    for (const double ratio : of(cell.key)) rounds.push_back(-std::log(ratio));
    return rounds;
  }
  const std::vector<double> one = of(cell.base_key), many = of(cell.time_key);
  for (std::size_t r = 0; r < std::min(one.size(), many.size()); ++r) {
    rounds.push_back(std::log(one[r] / many[r]));
  }
  return rounds;
}

void add_beside(const GateInput& input, const std::vector<const Night*>& nights, GateTable& table) {
  std::vector<std::string> builds;
  for (std::size_t k = 0; k < nights.size(); ++k) {
    const BesideNight* const beside = beside_of(input, *nights[k]);
    if (beside == nullptr) continue;
    const auto known = std::ranges::find(builds, beside->hash);
    table.set.build[k] = static_cast<std::size_t>(known - builds.begin()) + 1;
    if (known == builds.end()) builds.push_back(beside->hash);
    const std::string start = start_of(input, beside->run_id);
    const auto later = std::ranges::find_if(
        nights, [&](const Night* const night) { return night->started_utc > start; });
    table.set.build_from[k] = static_cast<std::size_t>(later - nights.begin());
    for (std::size_t c = 0; c < table.last.size(); ++c) {
      GateSeries& series = table.set.cells[c];
      series.beside[k] = {rounds_of(*table.last[c], beside->ratios),
                          rounds_of(*table.last[c], beside->rerun_ratios)};
      series.build[k] = segment_of(input, *table.last[c], start);
    }
  }
}

void add_controls(const GateInput& input, const std::vector<const Night*>& nights,
                  GateTable& table) {
  // A night without one forgets nothing that was found with it.
  const BesideNight* last = nullptr;
  for (const Night* const night : nights) {
    if (const BesideNight* const beside = beside_of(input, *night)) last = beside;
  }
  if (last == nullptr) return;
  Places place_of;
  for (const NightCell& cell : last->accepted.cells) {
    if (!cell.is_time() || !place_of.emplace(cell.key, place_of.size()).second) continue;
    table.control_cells.push_back(&cell);
    GateSeries& series = table.controls.add_cell();
    describe(series, cell);
    for (std::size_t k = 0; k < nights.size(); ++k) {
      series.segment[k] = segment_of(input, cell, nights[k]->started_utc);
    }
  }
  for (std::size_t k = 0; k < nights.size(); ++k) {
    const BesideNight* const beside = beside_of(input, *nights[k]);
    if (beside == nullptr || beside->hash != last->hash) continue;
    table.controls.build[k] = 1;
    add_values(&GateSeries::y, beside->accepted.cells, k, place_of, table.controls);
    add_values(&GateSeries::rerun, beside->accepted_rerun.cells, k, place_of, table.controls);
  }
}

/// The standard deviation of ln over the launches of a night; NaN for fewer than three.
double launch_spread_of(const std::vector<double>& launches) {
  if (launches.size() < 3) return kNotMeasured;
  double sum = 0, squares = 0;
  for (const double value : launches) {
    sum += std::log(value);
    squares += std::log(value) * std::log(value);
  }
  const auto n = static_cast<double>(launches.size());
  return std::sqrt(std::max(0.0, squares - sum * sum / n) / (n - 1));
}

/// Of each series, what its launches usually are within a night.
void add_launch_spreads(const std::vector<const Night*>& nights, const Places& place_of,
                        GateTable& table) {
  std::vector<std::vector<double>> spreads(table.last.size());
  for (auto night = nights.rbegin(); night != nights.rend(); ++night) {
    for (const NightCell& cell : (*night)->cells) {
      std::vector<double>& its = spreads[place_of.at(cell.key)];
      const double spread = launch_spread_of(cell.launches);
      if (spread == spread && its.size() < kBaselineNights) its.push_back(spread);
    }
  }
  for (std::size_t c = 0; c < table.last.size(); ++c) {
    table.set.cells[c].launch_spread = median_of(spreads[c]);
    table.set.cells[c].launches = table.last[c]->launches.size();
  }
}

/// What records say is open and no annotation has ended since, by places among the series.
void add_remembered(const GateInput& input, const std::vector<const Night*>& nights,
                    const Places& place_of, GateTable& table) {
  for (const OpenBefore& open : input.history.open) {
    if (input.annotations.excluded_run(open.since_run) != nullptr) continue;
    const auto since = std::ranges::find(nights, open.since_run, &Night::run_id);
    // Nights that are no longer there cannot end it; only people can.
    const std::size_t night =
        since == nights.end() ? 0 : static_cast<std::size_t>(since - nights.begin());
    const double change = std::log1p(open.change);
    const auto accepted_since = [&](const NightCell& cell) {
      // The run of its first night too: that is where people accept it.
      return std::ranges::any_of(input.annotations.accepted, [&](const Annotation& accepted) {
        const std::string start = start_of(input, accepted.run);
        return start >= open.since_utc && start <= input.tonight.started_utc && !start.empty() &&
               matches(accepted.cells, cell);
      });
    };
    if (open.key == "*") {
      const bool ended =
          !table.last.empty() &&
          std::ranges::all_of(table.last, [&](const NightCell* c) { return accepted_since(*c); });
      if (!ended) table.remembered.push_back({kAllCells, night, change});
    } else if (open.accepted_too) {
      const auto control = std::ranges::find(table.control_cells, open.key, &NightCell::key);
      if (control == table.control_cells.end() || accepted_since(**control)) continue;
      const auto place = static_cast<std::size_t>(control - table.control_cells.begin());
      table.remembered_controls.push_back({place, night, change});
    } else if (const auto found = place_of.find(open.key); found != place_of.end()) {
      if (accepted_since(*table.last[found->second])) continue;
      table.remembered.push_back({found->second, night, change});
    }
  }
}

}  // namespace

std::string start_of(const GateInput& input, const std::string& run) {
  if (run == input.tonight.run_id) return input.tonight.started_utc;
  const auto found = input.history.started.find(run);
  if (found != input.history.started.end()) return found->second;
  if (run.size() < 16 || run[8] != 'T' || run[15] != 'Z') return "";
  return run.substr(0, 4) + "-" + run.substr(4, 2) + "-" + run.substr(6, 2) + "T" +
         run.substr(9, 2) + ":" + run.substr(11, 2) + ":" + run.substr(13, 2) + "Z";
}

int segment_of(const GateInput& input, const NightCell& cell, const std::string& started_utc) {
  int segment = 0;
  for (const Annotation& accepted : input.annotations.accepted) {
    if (!matches(accepted.cells, cell)) continue;
    const std::string start = start_of(input, accepted.run);
    // What nobody can place in time accepts nothing: an alarm too many, not one too few.
    if (!start.empty() && start <= started_utc) ++segment;
  }
  return segment;
}

GateTable gate_table(const GateInput& input) {
  const std::vector<const Night*> nights = nights_in(input);
  GateTable table{GateSeriesSet(nights.size()), GateSeriesSet(nights.size())};
  Places place_of;
  for (auto night = nights.rbegin(); night != nights.rend(); ++night) {
    for (const NightCell& cell : (*night)->cells) {
      if (!place_of.emplace(cell.key, table.last.size()).second) continue;
      table.last.push_back(&cell);
      table.tonight.push_back(*night == nights.back() ? &cell : nullptr);
    }
  }
  for (const NightCell* const cell : table.last) {
    GateSeries& series = table.set.add_cell();
    describe(series, *cell);
    for (std::size_t k = 0; k < nights.size(); ++k) {
      series.segment[k] = segment_of(input, *cell, nights[k]->started_utc);
    }
  }
  for (std::size_t k = 0; k < nights.size(); ++k) {
    add_values(&GateSeries::y, nights[k]->cells, k, place_of, table.set);
    const auto rerun = input.history.reruns.find(nights[k]->run_id);
    if (rerun == input.history.reruns.end()) continue;
    add_values(&GateSeries::rerun, rerun->second.cells, k, place_of, table.set);
  }
  add_launch_spreads(nights, place_of, table);
  add_beside(input, nights, table);
  add_controls(input, nights, table);
  add_remembered(input, nights, place_of, table);
  if (!input.history.pinned) return table;
  for (const NightCell& cell : input.history.pinned->cells) {
    const auto found = place_of.find(cell.key);
    if (found != place_of.end()) table.set.cells[found->second].pinned = cell.y();
  }
  return table;
}

}  // namespace scalebench
