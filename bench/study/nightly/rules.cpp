// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/rules.hpp"

#include <algorithm>

#include "bench/measure/statistics.hpp"

namespace scalebench {
namespace {

constexpr double kSuspicion = 0.02;    // p that it is slower, and
constexpr double kLeastChange = 0.02;  // the change with it
constexpr double kRerunAlone = 0.05;

/// One-sided: a night asks whether it is slower.
double p_slower(const CellComparison& cell) {
  return cell.ratio > 1 ? cell.p_value / 2 : 1 - cell.p_value / 2;
}

bool is_suspect(const CellComparison& cell) {
  const double change = cell.ratio - 1;
  return (p_slower(cell) <= kSuspicion && change >= kLeastChange) || change > kSeen;
}

/// What the rerun makes of a suspect, which `cell` is by all rounds.
void answer(BuildCell& cell, const CellComparison& sweep, const CellSamples& again) {
  const CellComparison rerun = compare_cells(std::vector{again}).front();
  const bool confirmed = p_slower(rerun) < kRerunAlone;
  if (confirmed && cell.verdict == Verdict::slower) return;
  const bool measured = !again.a.empty();
  cell.open = !measured || std::max(cell.ratio, sweep.ratio) - 1 > kSeen;
  cell.note = !measured   ? "looks slower, and was not measured again"
              : cell.open ? "beyond 10 %, and the rerun does not settle it"
                          : "not clearly slower in the rerun";
  if (cell.open || cell.verdict == Verdict::slower) cell.word = "UNDECIDED";
}

}  // namespace

std::vector<BuildCell> judge_build(std::span<const BuildRounds> cells) {
  std::vector<CellSamples> all;
  for (const BuildRounds& cell : cells) all.push_back(cell.sweep);
  const std::vector<CellComparison> sweeps = compare_cells(all);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    CellSamples& samples = all[i];
    if (!is_suspect(sweeps[i])) continue;  // a control's rerun says nothing new of it
    const CellSamples& again = cells[i].again;
    samples.a.insert(samples.a.end(), again.a.begin(), again.a.end());
    samples.b.insert(samples.b.end(), again.b.begin(), again.b.end());
  }
  std::vector<BuildCell> judged;
  for (const CellComparison& found : compare_cells(all)) {
    const std::size_t i = judged.size();
    BuildCell& cell = judged.emplace_back(BuildCell{found});
    cell.word = name_of(found.verdict);
    cell.suspect = is_suspect(sweeps[i]);
    if (cell.suspect) {
      answer(cell, sweeps[i], cells[i].again);
    } else if (found.verdict == Verdict::slower) {
      cell.word = "UNDECIDED";  // only what was slower again is slower
    }
  }
  return judged;
}

namespace {

constexpr std::size_t kMostGoodNights = 20;  // that are looked at
constexpr double kQuantile = 0.9;            // of them, which a slow night is beyond
constexpr std::size_t kLast = 10;            // nights in which kOften make an alarm
constexpr std::size_t kOften = 5;
constexpr std::size_t kFewestCells = 5;  // whose median is that of all together

template <class Night>
std::vector<Night> newest_first(const std::vector<Night>& nights) {
  return {nights.rbegin(), nights.rend()};
}

/// Whether a night beyond the good ones, tonight, is one too many.
bool is_alarm(const std::vector<CellNight>& nights) {
  std::size_t looked_at = 0, beyond = 1;
  for (const CellNight& night : newest_first(nights)) {
    if (night.word == "MISSING") continue;
    if (looked_at++ == 0 && night.beyond()) return true;
    if (looked_at == kLast) break;
    beyond += night.beyond() ? 1 : 0;
  }
  return beyond >= kOften;
}

MachineCell judged(const std::vector<CellNight>& nights, double seconds) {
  MachineCell cell;
  cell.seconds = seconds;
  std::vector<double> good;
  for (const CellNight& night : newest_first(nights)) {
    if (night.good() && good.size() < kMostGoodNights) good.push_back(night.seconds);
  }
  cell.nights = good.size();
  if (!good.empty()) cell.before = median_of(good);
  cell.change = seconds / cell.before - 1;
  const bool enough = cell.nights >= kFewestNights;
  if (enough) cell.limit = quantile_of(good, kQuantile) * (1 + kMachineFloor) / cell.before - 1;
  if (!std::isnan(seconds)) {
    cell.word = !enough                       ? "UNDECIDED"
                : !(cell.change > cell.limit) ? "SAME"
                : is_alarm(nights)            ? "MACHINE"
                                              : "WATCHED";
  }
  return cell;
}

/// The median of tonight's changes against those of the last nights without an alarm.
TogetherNight judged_together(const std::vector<TogetherNight>& nights,
                              const std::map<std::string, MachineCell>& cells) {
  std::vector<double> changes;
  for (const auto& [key, cell] : cells) {
    if (!std::isnan(cell.change)) changes.push_back(cell.change);
  }
  TogetherNight tonight{median_of(changes), false};
  double slowest = -1;
  std::size_t count = 0;
  for (const TogetherNight& night : newest_first(nights)) {
    if (night.machine || std::isnan(night.change)) continue;
    slowest = std::max(slowest, night.change);
    if (++count == kLast) break;
  }
  // The first night has no change.
  const bool enough = count + 1 >= kFewestNights && changes.size() >= kFewestCells;
  tonight.machine = enough && 1 + tonight.change > (1 + slowest) * (1 + kMachineFloor);
  return tonight;
}

}  // namespace

MachineTonight judge_machine(const MachineNights& nights,
                             const std::map<std::string, double>& seconds) {
  MachineTonight tonight;
  for (const auto& [key, before] : nights.cells) {
    const auto found = seconds.find(key);
    tonight.cells[key] = judged(before, found == seconds.end() ? std::nan("") : found->second);
  }
  for (const auto& [key, value] : seconds) {
    if (!nights.cells.contains(key)) tonight.cells[key] = judged({}, value);
  }
  tonight.together = judged_together(nights.together, tonight.cells);
  for (auto& [key, cell] : tonight.cells) {
    if (tonight.together.machine && !std::isnan(cell.change)) cell.word = "MACHINE";
  }
  return tonight;
}

}  // namespace scalebench
