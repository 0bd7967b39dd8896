// SPDX-License-Identifier: Apache-2.0
#include "bench/study/comparison/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "bench/measure/statistics.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/pairs.hpp"

namespace scalebench {
namespace {

/// Why these two sides may not meet in a test; empty when they may.
std::string why_not_tested(const CellPair& pair, char letter_of_b) {
  for (const Cell* const side : {pair.a, pair.b}) {
    if (side == nullptr || is_measured_here(side->row.get("origin"))) continue;
    return fmt::format("{} is {}: shown, not tested", side == pair.a ? 'A' : letter_of_b,
                       side->row.get("origin"));
  }
  if (pair.a == nullptr || pair.b == nullptr) return "";
  const std::string &a = pair.a->row.get("origin"), &b = pair.b->row.get("origin");
  return a == b ? "" : fmt::format("A is {}, {} is {}: not compared", a, letter_of_b, b);
}

/// "; nearest there: LABEL (algorithm: ring -> native), joined by --across algorithm": of the cells
/// that only the other side has, the one that differs in the fewest parameters, up to two.
std::string nearest(const Cell& cell, const std::vector<CellPair>& pairs, bool in_a) {
  constexpr std::size_t kNear = 2;
  const Cell* found = nullptr;
  std::vector<std::string_view> apart;
  for (const CellPair& pair : pairs) {
    const Cell* const other = in_a ? pair.a : pair.b;
    if (other == nullptr || (in_a ? pair.b : pair.a) != nullptr) continue;
    if (other->row.schema().file != cell.row.schema().file) continue;
    if (text_in(other->row, "ranks") != text_in(cell.row, "ranks")) continue;
    const std::vector<std::string_view> differing =
        differing_parameters({&cell.row, &other->row}, {"", ""}).front();
    if (differing.size() > kNear || (found != nullptr && differing.size() >= apart.size()))
      continue;
    found = other;
    apart = differing;
  }
  if (found == nullptr) return "";
  std::vector<std::string> differences;
  for (const std::string_view column : apart) {
    differences.push_back(difference_across(cell.row, found->row, std::string(column)));
  }
  const std::string joined =
      apart.size() == 1 ? fmt::format(", joined by --across {}", apart.front()) : "";
  return fmt::format("; nearest there: {} ({}){}", label_of(found->row),
                     fmt::join(differences, ", "), joined);
}

std::string why_missing(const CellPair& pair, char letter_of_b, const CellSamples& samples,
                        const std::vector<CellPair>& pairs) {
  for (const Cell* const side : {pair.a, pair.b}) {
    if (side == nullptr) {
      return fmt::format("not in {}{}", pair.a == nullptr ? 'A' : letter_of_b,
                         nearest(pair.any(), pairs, pair.a == nullptr));
    }
    const char letter = side == pair.a ? 'A' : letter_of_b;
    if (side->status == "skipped") return fmt::format("{} skipped it: {}", letter, side->note);
    if (side->status != "ok") return fmt::format("{} {}: {}", letter, side->status, side->note);
  }
  if (samples.paired && samples.a.empty()) return "measured in turns, but no round has both";
  return "";
}

/// The columns of one side, "a" or "b".
void set_side(ResultRow& row, char side, const Cell* cell) {
  if (cell == nullptr) return;
  row.set(fmt::format("launches_{}", side), cell->seconds.size());
  if (cell->measured()) row.set(fmt::format("seconds_{}", side), median_of(cell->seconds));
}

ResultRow described(const CellPair& pair, std::string label, const ComparedRun& run,
                    const std::string& across) {
  const ResultRow& any = pair.any().row;
  const bool both = pair.a != nullptr && pair.b != nullptr;
  if (both && !across.empty()) {
    const std::string differs = difference_across(pair.a->row, pair.b->row, across);
    if (!differs.empty()) label += fmt::format(" ({})", differs);
  }
  ResultRow row(comparison_schema());
  row.set("run_id", run.manifest.run_id).set("status", "ok").set("case_id", any.get("case_id"));
  row.set("origin", (both ? pair.b->row : any).get("origin")).set("label", label);
  row.set("letter", std::string(1, run.letter)).set("ranks", text_in(any, "ranks"));
  set_side(row, 'a', pair.a);
  set_side(row, 'b', pair.b);
  return row;
}

void set_result(ResultRow& row, const CellComparison& result) {
  row.set("ratio", result.ratio).set("ratio_low", result.ratio_low);
  row.set("ratio_high", result.ratio_high).set("p_value", result.p_value);
  row.set("p_holm", result.p_holm).set("verdict", name_of(result.verdict));
  row.set("smallest_effect", result.smallest_effect);
  if (result.rounds_needed > 0) row.set("rounds_needed", result.rounds_needed);
}

}  // namespace

std::size_t Comparison::count(Verdict verdict, char letter) const {
  return static_cast<std::size_t>(std::ranges::count_if(rows, [&](const ResultRow& row) {
    return row.get("verdict") == name_of(verdict) &&
           (letter == 0 || row.get("letter")[0] == letter);
  }));
}

Comparison compare_runs(const std::vector<ComparedRun>& runs, const std::string& across) {
  Comparison comparison;
  std::vector<CellSamples> samples;
  std::vector<std::size_t> row_of;  // in comparison.rows, of each of the samples
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const Manifest &a = runs.front().manifest, &b = runs[i].manifest;
    const char letter = runs[i].letter;
    const bool paired = b.run_id == a.run_id || (!b.pair.empty() && b.pair == a.pair);
    if (paired) comparison.paired.insert(letter);
    const std::vector<CellPair> pairs = pairs_of(runs.front().cells, runs[i].cells);
    std::vector<const ResultRow*> shown;
    for (const CellPair& pair : pairs) shown.push_back(&pair.any().row);
    const std::vector<std::string> labels = labels_of(shown);
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const CellPair& pair = pairs[k];
      ResultRow row = described(pair, labels[k], runs[i], across);
      if (pair.skipped()) {
        row.set("status", "skipped").set("note", pair.any().note);
        ++comparison.skipped;
      } else if (const std::string why = why_not_tested(pair, letter); !why.empty()) {
        row.set("note", why);
        ++comparison.not_tested;
      } else {
        if (const Cell* const broken = pair.broken(); broken != nullptr) {
          row.set("status", broken->status);
        }
        samples.push_back(pair.samples(paired));
        row.set("note", why_missing(pair, letter, samples.back(), pairs));
        row_of.push_back(comparison.rows.size());
      }
      comparison.rows.push_back(std::move(row));
    }
  }
  const std::vector<CellComparison> results = compare_cells(samples);
  for (std::size_t i = 0; i < results.size(); ++i) {
    set_result(comparison.rows[row_of[i]], results[i]);
    comparison.differ_apart |= results[i].differs() && !samples[i].paired;
  }
  return comparison;
}

}  // namespace scalebench
