// SPDX-License-Identifier: Apache-2.0
// Runs against the first of them, cell by cell: rows of compare.csv. Only times of one origin are
// tested, and only measured or emulated ones; what is imported, quoted or predicted stands beside
// them without a verdict.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/pairs.hpp"

namespace scalebench {

/// What a comparison needs of a run.
struct ComparedRun {
  std::string run_id;
  std::string pair;  // as in the manifest: runs with the same word are compared round by round, as
                     // is a run with itself
  std::vector<Cell> cells;
};

struct Comparison {
  std::vector<ResultRow> rows;  // of compare.csv, run after run
  std::size_t same = 0, faster = 0, slower = 0, undecided = 0, missing = 0;
  std::size_t skipped = 0;     // on both sides: no cells
  std::size_t not_tested = 0;  // of other origins
  std::set<char> paired = {};  // the letters of runs that were measured in turns with A
  bool differ_apart = false;   // a cell is faster or slower that was not measured in turns

  std::size_t decided() const { return same + faster + slower; }
  std::size_t tested() const { return decided() + undecided; }
};

/// Compares every later run with the first; Holm's correction is over the cells of all of them.
/// `across`: the column across which join_across has joined the cells; empty: none.
Comparison compare_runs(const std::vector<ComparedRun>& runs, const std::string& across);

}  // namespace scalebench
