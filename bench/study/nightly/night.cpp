// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/night.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "bench/measure/statistics.hpp"
#include "bench/study/nightly/history.hpp"

namespace scalebench {
namespace {

/// From what needs a look to what does not.
constexpr std::array<std::string_view, 7> kUrgency{"SLOWER",    "MACHINE", "MISSING", "WATCHED",
                                                   "UNDECIDED", "FASTER",  "SAME"};

std::size_t urgency(const NightCell& cell) {
  const std::string_view word = cell.build.open ? "MISSING" : std::string_view(cell.word);
  return static_cast<std::size_t>(std::ranges::find(kUrgency, word) - kUrgency.begin());
}

using Pairs = std::map<std::string, CellPair>;

Pairs pairs_by_key(const std::vector<Cell>& accepted, const std::vector<Cell>& tonight) {
  Pairs pairs;
  for (const CellPair& pair : pairs_of(accepted, tonight)) {
    if (!pair.skipped()) pairs[pair.any().key] = pair;
  }
  return pairs;
}

/// Of each of the sweep's pairs.
std::vector<BuildRounds> rounds_of(const Pairs& sweep, const Pairs& again) {
  std::vector<BuildRounds> rounds;
  for (const auto& [key, pair] : sweep) {
    const auto its = again.find(key);
    rounds.push_back({pair.samples(/*paired=*/true), {}});
    if (its != again.end()) rounds.back().again = its->second.samples(/*paired=*/true);
  }
  return rounds;
}

/// Tonight's values of the accepted programs.
std::map<std::string, double> machine_seconds(const NightInput& input) {
  std::map<std::string, double> seconds;
  if (!input.why_not.empty()) return seconds;
  for (const Cell& cell : input.paired ? input.accepted : input.tonight) {
    if (cell.measured()) seconds[cell.key] = median_of(cell.seconds);
  }
  return seconds;
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
    const auto labels = labels_of(*side);
    for (const Cell& cell : *side) {
      if (cell.status == "skipped" && !nights.cells.contains(cell.key)) continue;
      NightCell& its = cells[cell.key];
      its.label = labels.at(cell.key);
      if (cell.status != "ok") its.note = fmt::format("{}: {}", cell.status, cell.note);
      if (cell.measured()) its.word = "UNDECIDED";
    }
  }
  for (auto& [key, cell] : cells) cell.key = key;
  return cells;
}

void ask_build(const NightInput& input, Cells& cells) {
  const Pairs sweep = pairs_by_key(input.accepted, input.tonight);
  const std::vector<BuildCell> judged =
      judge_build(rounds_of(sweep, pairs_by_key(input.accepted_again, input.tonight_again)));
  auto its = judged.begin();
  for (const auto& [key, pair] : sweep) {
    NightCell& cell = cells.at(key);
    cell.build = *its++;
    cell.word = cell.build.word;
    if (cell.note.empty()) cell.note = cell.build.note;
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
    cell.word = name_of(its.verdict);
    if (tonight.together.machine && its.beyond()) cell.note = "all cells together";
    if (its.verdict == MachineVerdict::undecided) {
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
    const bool judged = input.paired ? cell.build.rounds > 0 : !std::isnan(cell.machine.limit);
    if (!judged || cell.word == "MISSING") continue;
    ++asked;
    seeing += (input.paired ? cell.build.smallest_effect : cell.machine.limit) <= kSeen ? 1 : 0;
  }
  return 2 * seeing < asked;
}

std::vector<std::string> doubts_of(const NightInput& input, const Night& night) {
  std::vector<std::string> doubts;
  if (!input.why_not.empty()) doubts.push_back(input.why_not);
  std::size_t rounds = 0;
  for (const Cell& cell : input.tonight) rounds = std::max(rounds, cell.seconds.size());
  if (input.paired && rounds < kFewestRounds) {
    doubts.push_back(
        fmt::format("{} rounds are too few to compare builds, {} at least", rounds, kFewestRounds));
  }
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

std::size_t learnt_of(const std::vector<NightCell>& cells) {
  std::vector<std::size_t> nights;
  for (const NightCell& cell : cells) {
    if (cell.word != "MISSING") nights.push_back(cell.machine.nights);
  }
  std::ranges::sort(nights);
  return nights.empty() ? 0 : std::min(kFewestNights, nights[nights.size() / 2]);
}

}  // namespace

std::size_t Night::count(std::string_view verdict) const {
  return static_cast<std::size_t>(std::ranges::count(cells, verdict, &NightCell::word));
}

std::string Night::title() const {
  const bool learning = word == "PASS" && learnt < kFewestNights;
  const std::string text =
      learning ? fmt::format("{} (machine: {} of {} nights)", word, learnt, kFewestNights) : word;
  return reasons.empty() ? text : fmt::format("{}: {}", text, fmt::join(reasons, "; "));
}

std::set<std::string> suspects_of(const NightInput& sweep) {
  std::set<std::string> keys;
  const Pairs pairs = pairs_by_key(sweep.accepted, sweep.tonight);
  const std::vector<bool> suspects = suspects_in(rounds_of(pairs, {}));
  std::size_t place = 0;
  for (const auto& [key, pair] : pairs) {
    if (suspects[place++]) keys.insert(key + "/seconds");
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
  night.learnt = learnt_of(night.cells);
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

std::vector<ResultRow> gate_rows(const Night& night, const Manifest& run) {
  std::vector<ResultRow> rows;
  for (const NightCell& cell : night.cells) {
    ResultRow& row = rows.emplace_back(gate_schema());
    row.set("run_id", run.run_id).set("origin", run.origin).set("key", cell.key);
    row.set("label", cell.label).set("verdict", cell.word).set("note", cell.note);
    row.set("question", cell.of_machine ? "machine" : "build");
    row.set("before", cell.before()).set("after", cell.after()).set("change", cell.change());
    row.set("sees", cell.sees()).set("nights", cell.machine.nights);
    if (cell.of_machine || cell.build.rounds == 0) continue;
    row.set("change_low", cell.build.ratio_low - 1).set("change_high", cell.build.ratio_high - 1);
    row.set("p_holm", cell.build.p_holm).set("rounds", cell.build.rounds);
  }
  return rows;
}

}  // namespace scalebench
