// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/night.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "bench/measure/statistics.hpp"
#include "bench/study/nightly/record.hpp"

namespace scalebench {
namespace {

/// From what needs a look to what does not.
constexpr std::array<std::string_view, 7> kUrgency{"SLOWER",    "MACHINE", "MISSING", "WATCHED",
                                                   "UNDECIDED", "FASTER",  "SAME"};

std::size_t urgency(const NightCell& cell) {
  const std::string_view word = cell.build.open ? "MISSING" : std::string_view(cell.word);
  return static_cast<std::size_t>(std::ranges::find(kUrgency, word) - kUrgency.begin());
}

/// What is found of the build, by key.
std::map<std::string, BuildCell> judged_builds(const NightInput& input) {
  std::map<std::string, BuildRounds> rounds;
  for (const CellPair& pair : pairs_of(input.accepted, input.tonight)) {
    if (!pair.skipped()) rounds[pair.any().key].sweep = pair.samples(/*paired=*/true);
  }
  for (const CellPair& pair : pairs_of(input.accepted_again, input.tonight_again)) {
    const auto its = rounds.find(pair.any().key);
    if (its != rounds.end()) its->second.again = pair.samples(/*paired=*/true);
  }
  std::vector<BuildRounds> in_order;
  for (const auto& [key, its] : rounds) in_order.push_back(its);
  const auto judged = judge_build(in_order);
  std::map<std::string, BuildCell> cells;
  auto its = judged.begin();
  for (const auto& [key, sweep] : rounds) cells.emplace(key, *its++);
  return cells;
}

/// Tonight's values of the accepted programs.
std::map<std::string, double> machine_seconds(const NightInput& input) {
  if (!input.why_not.empty()) return {};
  return medians_of(input.paired ? input.accepted : input.tonight);
}

using Cells = std::map<std::string, NightCell>;

/// All that tonight and the nights before have, by name; what was skipped and never measured is
/// none.
Cells named_cells(const NightInput& input, const MachineNights& nights) {
  Cells cells;
  for (const ResultRow& row : input.history) {
    const std::string& key = row.get("key");
    if (nights.cells.contains(key)) cells[key].label = row.get("label");
  }
  for (const std::vector<Cell>* const side : {&input.accepted, &input.tonight}) {
    const std::vector<std::string> labels = labels_of(*side);
    for (std::size_t i = 0; i < side->size(); ++i) {
      const Cell& cell = (*side)[i];
      if (cell.status == "skipped" && !nights.cells.contains(cell.key)) continue;
      NightCell& its = cells[cell.key];
      its.label = labels[i];
      if (cell.status != "ok") its.note = fmt::format("{}: {}", cell.status, cell.note);
      if (cell.measured()) its.word = "UNDECIDED";
    }
  }
  for (auto& [key, cell] : cells) cell.key = key;
  return cells;
}

void ask_build(const NightInput& input, Cells& cells) {
  for (const auto& [key, its] : judged_builds(input)) {
    NightCell& cell = cells.at(key);
    cell.build = its;
    cell.word = its.word;
    if (cell.note.empty()) cell.note = its.note;
  }
}

/// Takes the machine's answer where it is the worse one, or the only one.
void ask_machine(const NightInput& input, const MachineTonight& tonight, Cells& cells) {
  for (const auto& [key, its] : tonight.cells) {
    NightCell& cell = cells.at(key);
    cell.machine = its;
    const bool is_worse = its.beyond() && cell.word != "SLOWER" && !cell.build.open;
    if (!is_worse && (input.paired || !input.why_not.empty())) continue;
    cell.of_machine = true;
    cell.word = its.word;
    if (tonight.together.machine && its.beyond()) cell.note = "all cells together";
    if (its.word == "UNDECIDED") {
      cell.note = fmt::format("{} of {} nights", its.nights, kFewestNights);
    }
  }
}

/// "1 cell slower"; nothing of none.
void add(std::vector<std::string>& reasons, std::size_t count, std::string_view one,
         std::string_view what, std::string_view plural = "s") {
  if (count > 0)
    reasons.push_back(fmt::format("{} {}{} {}", count, one, count == 1 ? "" : plural, what));
}

/// Whether fewer than half of the cells that were asked would have shown a change of kSeen.
bool is_blind(const NightInput& input, const std::vector<NightCell>& cells) {
  std::size_t asked = 0, seeing = 0;
  for (const NightCell& cell : cells) {
    const bool judged =
        input.paired ? cell.build.word != "MISSING" : !std::isnan(cell.machine.limit);
    if (!judged || cell.word == "MISSING") continue;
    ++asked;
    seeing += (input.paired ? cell.build.smallest_effect : cell.machine.limit) <= kSeen ? 1 : 0;
  }
  return 2 * seeing < asked;
}

std::vector<std::string> doubts_of(const NightInput& input, const Night& night) {
  std::vector<std::string> doubts;
  if (!input.why_not.empty()) doubts.push_back(input.why_not);
  const auto open = [](const NightCell& cell) { return cell.build.open; };
  add(doubts, static_cast<std::size_t>(std::ranges::count_if(night.cells, open)), "suspect",
      "without an answer");
  add(doubts, night.count("MISSING"), "cell", "missing");
  add(doubts, input.failed_launches.size(), "launch", "failed", "es");
  if (is_blind(input, night.cells)) {
    doubts.push_back("blind: fewer than half of the cells could show 10 %");
  }
  return doubts;
}

}  // namespace

std::size_t Night::count(std::string_view verdict) const {
  return static_cast<std::size_t>(std::ranges::count(cells, verdict, &NightCell::word));
}

std::string Night::title() const {
  const bool learning = word == "PASS" && learnt < kFewestNights;
  const std::string text =
      learning ? fmt::format("{} (machine: {:.0f} of {} nights)", word, learnt, kFewestNights)
               : word;
  return reasons.empty() ? text : fmt::format("{}: {}", text, fmt::join(reasons, "; "));
}

std::map<std::string, double> medians_of(const std::vector<Cell>& cells) {
  std::map<std::string, double> seconds;
  for (const Cell& cell : cells) {
    if (cell.measured()) seconds[cell.key] = median_of(cell.seconds);
  }
  return seconds;
}

std::set<std::string> suspects_of(const NightInput& sweep) {
  std::set<std::string> keys;
  for (const auto& [key, cell] : judged_builds(sweep)) {
    if (cell.suspect) keys.insert(key);
  }
  return keys;
}

Night judge_night(const NightInput& input) {
  Night night;
  if (!input.early.empty()) {
    night.word = "UNSURE";
    night.reasons = {"ended early: " + input.early};
    return night;
  }
  const MachineNights nights = machine_nights(input.history, input.origin);
  const MachineTonight machine = judge_machine(nights, machine_seconds(input));
  Cells cells = named_cells(input, nights);
  if (input.paired) ask_build(input, cells);
  ask_machine(input, machine, cells);
  for (auto& [key, cell] : cells) night.cells.push_back(std::move(cell));
  std::ranges::stable_sort(night.cells, {}, urgency);
  night.together = machine.together;
  std::vector<double> nights_of;
  for (const NightCell& cell : night.cells) {
    if (cell.word != "MISSING") nights_of.push_back(static_cast<double>(cell.machine.nights));
  }
  night.learnt = median_of(nights_of);
  add(night.reasons, night.count("SLOWER"), "cell", "slower than the accepted build");
  add(night.reasons, night.count("MACHINE"), "cell", "slower than on earlier nights");
  const std::vector<std::string> doubts = doubts_of(input, night);
  night.reasons.insert(night.reasons.end(), doubts.begin(), doubts.end());
  night.word = night.count("MISSING") == night.cells.size() ? "NOTHING MEASURED"
               : night.count("SLOWER") > 0                  ? "SLOWER"
               : night.count("MACHINE") > 0                 ? "MACHINE"
               : doubts.empty()                             ? "PASS"
                                                            : "UNSURE";
  return night;
}

}  // namespace scalebench
