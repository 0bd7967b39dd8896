// SPDX-License-Identifier: Apache-2.0
// Cells of two runs that belong together: what a comparison is made of.
#pragma once

#include <cmath>
#include <span>
#include <string>
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
/// How surely an effect is found that is called the smallest one to be found.
inline constexpr double kPower = 0.8;

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
  bool paired = false;  // as many on both sides, and those at one place are of one round
};

struct CellComparison {
  double seconds_a = 0;  // medians; NaN for a side without launches
  double seconds_b = 0;
  double ratio = 0;      // b / a: above 1, B took longer; paired: the median over rounds
  double ratio_low = 0;  // 95 %; NaN below 4 launches a side
  double ratio_high = 0;
  double p_value = 0;
  double p_holm = 0;
  double critical_effect = 0;  // the ratio less 1 that is found half of the time; NaN: none can be
  double smallest_effect = 0;  // found with a probability of kPower
  Verdict verdict = Verdict::missing;

  /// Compared, but of too few launches for any difference to be found.
  bool blind() const { return verdict != Verdict::missing && std::isnan(critical_effect); }
  bool differs() const { return verdict == Verdict::faster || verdict == Verdict::slower; }
};

/// One comparison for each cell, in their order.
std::vector<CellComparison> compare_cells(std::span<const CellSamples> cells);

/// Whether a difference could be found at all among so many cells: fewer launches a side than this
/// leave even the clearest one with an adjusted p above 0.05.
std::size_t launches_needed(std::size_t cells, bool paired = false);

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
  /// Launch medians of both; none at all when one of them is broken. `paired`: of the rounds that
  /// both have.
  CellSamples samples(bool paired = false) const;
};

/// Every cell of either side once, those of `a` first, joined by their keys: each with that of its
/// origin, and with one of another where that has none of its own.
std::vector<CellPair> pairs_of(const std::vector<Cell>& a, const std::vector<Cell>& b);

}  // namespace scalebench
