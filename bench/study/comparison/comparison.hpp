// SPDX-License-Identifier: Apache-2.0
// Runs against the first of them, cell by cell: rows of compare.csv. Only times of one origin are
// tested, and only measured or emulated ones; what is imported, quoted or predicted stands beside
// them without a verdict.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/pairs.hpp"
#include "bench/study/comparison/instances.hpp"
#include "bench/study/comparison/run_difference.hpp"

namespace scalebench {

/// One of the runs. Those whose manifests have the same `pair` are compared round by round, as is a
/// run with itself.
struct ComparedRun {
  char letter = 'A';
  std::filesystem::path folder{};
  Manifest manifest{};
  std::string manifest_sha256{};
  std::vector<Cell> cells{};                   // as far as they are wanted
  std::vector<FieldDifference> differences{};  // from the first run
  std::optional<Instance> instance{};          // that it was on
};

struct Comparison {
  std::vector<ResultRow> rows;  // of compare.csv, run after run
  std::size_t skipped = 0;      // on both sides: no cells
  std::size_t not_tested = 0;   // of other origins
  std::set<char> paired = {};   // the letters of runs that were measured in turns with A
  bool differ_apart = false;    // a cell is faster or slower that was not measured in turns

  /// How many cells have the verdict; of one run, or of all.
  std::size_t count(Verdict verdict, char letter = 0) const;
  std::size_t decided() const {
    return count(Verdict::same) + count(Verdict::faster) + count(Verdict::slower);
  }
  std::size_t tested() const { return decided() + count(Verdict::undecided); }
};

/// Compares every later run with the first; Holm's correction is over the cells of all of them.
/// `across`: the column across which join_across has joined the cells; empty: none.
Comparison compare_runs(const std::vector<ComparedRun>& runs, const std::string& across);

}  // namespace scalebench
