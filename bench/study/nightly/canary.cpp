// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/canary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/measure/statistics.hpp"
#include "bench/record/run_name.hpp"
#include "bench/study/analysis/rows.hpp"
#include "bench/study/nightly/accepted.hpp"
#include "bench/study/run/rerun.hpp"

namespace scalebench {
namespace {

/// Of its own time, by which a drop of speed makes it longer.
constexpr double kLonger = kCanaryDrop / (1 - kCanaryDrop);

/// Cells that would show the drop if it were theirs: judged tonight, and with nothing found.
bool is_expected(const GateCell& cell) {
  const bool unfound = cell.test.signal == Signal::none || cell.test.signal == Signal::better;
  return cell.cell.is_time() && unfound && cell.sensitivity.sees() &&
         cell.verdict != GateVerdict::open && cell.verdict != GateVerdict::excluded;
}

std::set<std::string> expected_in(const GateReport& report) {
  std::set<std::string> keys;
  for (const GateCell& cell : report.cells) {
    if (is_expected(cell)) keys.insert(cell.cell.key);
  }
  return keys;
}

/// Whether a fault makes it longer by a known share.
bool is_slowed_truly(const Cell& cell) {
  if (!cell.key.starts_with("allreduce/")) return true;
  return number_in(cell.row, "size_bytes") >= kLeastCanaryBytes;
}

/// The words that make the launch, which measured `cells`, take kLonger; none: nothing does so by a
/// known share.
std::vector<std::string> slowing_words(const PlannedLaunch& launch,
                                       const std::set<std::string>& cells, const StoredRun& sweep) {
  if (launch.program == "bench_allreduce") {
    // Nothing comes between the operations of a graph.
    if (std::ranges::find(launch.arguments, "-G") != launch.arguments.end()) return {};
    return {"--inject", fmt::format("slower={:.6g}", kLonger)};
  }
  if (launch.program != "bench_epoch" || launch.ranks != 1) return {};
  for (const Cell& cell : cells_of(sweep)) {
    if (!cells.contains(cell.key + "/seconds") || !cell.measured()) continue;
    const double steps = number_in(cell.row, "samples") / number_in(cell.row, "global_batch");
    const double step = median_of(cell.seconds) / steps;
    if (step > 0) return {"--inject", fmt::format("sleep={:.9f}:0", kLonger * step)};
  }
  return {};
}

/// Puts a slowed cell in place of tonight's and returns the relative drop that it is, by the rounds
/// beside the accepted build where tonight's are judged by such, else over tonight; none: it cannot
/// be judged as tonight's was.
std::optional<double> put(const NightCell& cell, const CellRatios& ratios, GateInput& input) {
  const auto own = std::ranges::find(input.tonight.cells, cell.key, &NightCell::key);
  if (own == input.tonight.cells.end() || !cell.is_time() || std::isnan(cell.y())) return {};
  double times = cell.value / own->value;
  if (input.beside && input.beside->ratios.contains(cell.key)) {
    const auto its = ratios.find(cell.key);
    if (its == ratios.end()) return {};
    std::vector<double> rounds;
    std::ranges::copy_if(its->second, std::back_inserter(rounds), [](double r) { return r == r; });
    if (rounds.size() < kFewestRounds) return {};
    times = median_of(rounds);
    input.beside->ratios[cell.key] = its->second;
  }
  *own = cell;
  return 1 - 1 / times;
}

/// Adds what of the slowed cells was to be seen, and what was: `seen` is the night with them,
/// `drops` what was put into each.
void count(const GateReport& report, const std::map<std::string, double>& drops,
           const GateReport& seen, Canary& canary) {
  for (const GateCell& cell : report.cells) {
    const auto drop = drops.find(cell.cell.key);
    if (!is_expected(cell) || drop == drops.end()) continue;
    ++canary.cells;
    const double least = std::log1p(-cell.sensitivity.critical_drop);
    canary.expected += student_t_tail(
        (std::log1p(-drop->second) - least) / cell.test.estimate.width, cell.test.estimate.df);
    const bool caught = std::ranges::any_of(seen.cells, [&](const GateCell& its) {
      return its.cell.key == cell.cell.key && its.test.is_suspect();
    });
    canary.caught += caught ? 1 : 0;
  }
}

}  // namespace

CanaryPlan canary_plan(const StoredRun& sweep, const std::vector<PlannedLaunch>& plan,
                       const GateReport& report) {
  const std::set<std::string> expected = expected_in(report);
  const auto cells = cells_by_launch(sweep, plan);
  std::set<std::string> truly;
  for (const Cell& cell : cells_of(sweep)) {
    if (is_slowed_truly(cell)) truly.insert(cell.key + "/seconds");
  }
  const PlannedLaunch* best = nullptr;
  std::vector<std::string> words;
  double most = 0;
  for (const PlannedLaunch& launch : plan) {
    const auto own = cells.find(launch.name);
    if (launch.round != 0 || own == cells.end()) continue;
    const auto seen =
        static_cast<double>(std::ranges::count_if(own->second, [&](const std::string& key) {
          return expected.contains(key) && truly.contains(key);
        }));
    const double rate = seen / std::max(launch.guess_seconds, 1.0);
    if (rate <= most) continue;
    const std::vector<std::string> its = slowing_words(launch, own->second, sweep);
    if (its.empty()) continue;
    most = rate;
    best = &launch;
    words = its;
  }
  CanaryPlan canary;
  if (best == nullptr) {
    canary.why_not = fmt::format(
        "no allreduce of 1 MiB and more and no epoch on one rank is judged tonight and would show "
        "a "
        "drop of {:.0f} %",
        100 * kToBeSeen);
    return canary;
  }
  for (const PlannedLaunch& launch : plan) {
    if (launch.name != best->name) continue;
    canary.as_is.push_back(launch);
    canary.as_is.back().number = static_cast<int>(canary.as_is.size());
    canary.slowed.push_back(canary.as_is.back());
    auto& arguments = canary.slowed.back().arguments;
    arguments.insert(arguments.end(), words.begin(), words.end());
  }
  return canary;
}

std::optional<Canary> canary_in(const GateInput& input, const GateReport& report,
                                const Night& slowed, const CellRatios& ratios) {
  // What many cells do at once is a shift of all, and no cell is judged.
  constexpr std::size_t kParts = 8;
  const std::set<std::string> expected = expected_in(report);
  Canary canary;
  std::vector<double> all;
  bool sought = slowed.cells.empty();
  for (std::size_t part = 0; part < kParts; ++part) {
    GateInput with = input;
    with.history.reruns.erase(input.tonight.run_id);
    if (with.beside) with.beside->rerun_ratios.clear();
    std::map<std::string, double> drops;
    for (std::size_t i = part; i < slowed.cells.size(); i += kParts) {
      const NightCell& cell = slowed.cells[i];
      if (!expected.contains(cell.key)) continue;
      sought = true;
      const std::optional<double> drop = put(cell, ratios, with);
      if (!drop) continue;
      if (*drop > kMostCanaryDrop) {
        ++canary.beyond;
        continue;
      }
      drops[cell.key] = *drop;
      all.push_back(*drop);
    }
    if (!drops.empty()) count(report, drops, gate(with), canary);
  }
  if (!sought || expected.empty()) return std::nullopt;
  if (!all.empty()) {
    canary.drop = median_of(all);
    canary.drop_low = std::ranges::min(all);
    canary.drop_high = std::ranges::max(all);
  } else if (canary.beyond > 0) {
    canary.why_not = fmt::format("it took away more than {:.0f} % in all of its {} cells",
                                 100 * kMostCanaryDrop, canary.beyond);
  } else {
    canary.why_not = "it has no value that can be judged";
  }
  return canary;
}

std::optional<Canary> canary_of(const std::filesystem::path& results, const GateInput& input,
                                const GateReport& report) {
  const std::string name = canary_name(input.tonight.run_id);
  if (!std::filesystem::exists(results / name)) return std::nullopt;
  std::optional<Canary> canary = Canary{.why_not = "it did not end in good order"};
  if (std::filesystem::exists(results / name / "manifest.json")) {
    const StoredRun run = read_stored_run(results / name, WithSamples::no);
    if (is_complete(run.folder, run.manifest)) {
      canary = canary_in(input, report, night_of(run), ratios_beside(results, name));
    }
  }
  if (canary) canary->run = name;
  return canary;
}

}  // namespace scalebench
