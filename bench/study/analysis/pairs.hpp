// SPDX-License-Identifier: Apache-2.0
// Cells of two runs that belong together: what a comparison is made of.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "bench/study/analysis/cells.hpp"

namespace scalebench {

// A against B, cell by cell: does B take longer, and by how much? The launch is the unit: what is
// compared are launch medians. A difference counts when the rank-sum test says so after Holm's
// correction over all cells *and* the ratio's whole interval lies outside the floor.

/// Differences up to this are no difference: a ratio from 1/1.03 to 1.03.
inline constexpr double kFloor = 0.03;
inline constexpr double kSignificance = 0.05;

enum class Verdict {
  same,       // the interval lies within the floor
  faster,     // B took less time
  slower,     // B took more time
  ambiguous,  // neither is shown: more launches are needed
  missing,    // one side has no launch; never a pass
};
std::string_view name_of(Verdict verdict);

/// Launch medians of one cell, in seconds.
struct CellSamples {
  std::vector<double> a;
  std::vector<double> b;
  double floor = kFloor;  // or the cell's spread in an A/A comparison, if that is larger
};

struct CellComparison {
  double seconds_a = 0;  // medians; NaN for a side without launches
  double seconds_b = 0;
  double ratio = 0;      // b / a: above 1, B took longer
  double ratio_low = 0;  // 95 %; NaN below 4 launches a side
  double ratio_high = 0;
  double p_value = 0;
  double p_holm = 0;
  double floor = kFloor;
  double smallest_effect = 0;  // that would have been seen: floor plus half the interval's width
  Verdict verdict = Verdict::missing;

  bool differs() const { return verdict == Verdict::faster || verdict == Verdict::slower; }
};

/// One comparison for each cell, in their order.
std::vector<CellComparison> compare_cells(std::span<const CellSamples> cells);

/// Holm's step-down adjustment; NaN (not tested) stays NaN and does not count.
std::vector<double> holm(std::span<const double> p_values);

/// Whether a difference could be found at all among so many cells: fewer launches a side than this
/// leave even the clearest one with an adjusted p above 0.05.
std::size_t launches_needed(std::size_t cells);

/// One cell as two runs measured it; either may be missing, not both. Points into their cells.
struct CellPair {
  const Cell* a = nullptr;
  const Cell* b = nullptr;

  const Cell& any() const { return a != nullptr ? *a : *b; }
  bool skipped() const {
    return (a == nullptr || a->status == "skipped") && (b == nullptr || b->status == "skipped");
  }
  /// The side whose wrong or failed launch voids the comparison; null when there is none.
  const Cell* broken() const;
  /// Launch medians of both; none at all when one of them is broken.
  CellSamples samples() const;
};

/// Every cell of either side once, those of `a` first, joined by their keys.
std::vector<CellPair> pairs_of(const std::vector<Cell>& a, const std::vector<Cell>& b);

}  // namespace scalebench
