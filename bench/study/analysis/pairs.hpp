// SPDX-License-Identifier: Apache-2.0
// Cells of two runs that belong together: what a comparison is made of.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/study/analysis/cells.hpp"

namespace scalebench {

// The one comparison: A against B, cell by cell. Does B take longer, by how much, and is that sure?
// The launch is the unit: what is compared are launch medians, round by round where both sides were
// measured in turns. Two runs, two builds in turns and a night beside the accepted build all ask
// here.

/// Differences up to this are no difference: a ratio from 1/1.03 to 1.03; of latencies to 1.05.
inline constexpr double kFloor = 0.03;
inline constexpr double kLatencyFloor = 0.05;
inline constexpr double kSignificance = 0.05;
/// How surely an effect is found that is called the smallest one to be found.
inline constexpr double kPower = 0.8;

enum class Verdict {
  same,       // the 90 % interval lies within the floor: two one-sided tests
  faster,     // B took less time: significant after Holm, and by more than the floor
  slower,     // B took more time
  undecided,  // neither is shown: more rounds are needed
  missing,    // one side has no launch; never a pass
};
std::string_view name_of(Verdict verdict);

/// Launch medians of one cell, in seconds.
struct CellSamples {
  std::vector<double> a;
  std::vector<double> b;
  bool paired = false;  // as many on both sides, and those at one place are of one round
  double floor = kFloor;
};

struct CellComparison {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  double seconds_a = kUnknown;  // medians; NaN for a side without launches
  double seconds_b = kUnknown;
  double ratio = kUnknown;      // b / a, Hodges and Lehmann: above 1, B took longer
  double ratio_low = kUnknown;  // 95 %; NaN below 4 launches a side or 6 rounds
  double ratio_high = kUnknown;
  double p_value = kUnknown;
  double p_holm = kUnknown;           // corrected over all cells
  double smallest_effect = kUnknown;  // found with a probability of kPower; NaN: none could be
  std::size_t rounds_needed = 0;      // of an undecided cell, to decide it if it goes on like this
  Verdict verdict = Verdict::missing;

  bool decided() const { return verdict != Verdict::missing && verdict != Verdict::undecided; }
  bool differs() const { return verdict == Verdict::faster || verdict == Verdict::slower; }
};

/// `rounds_needed` where it would take more than this, or no number would do.
inline constexpr std::size_t kTooManyRounds = 1000;

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

/// Fills in `native_ratio`, its interval and `native_verdict` of cells of allreduce.csv: the
/// seconds of `native` over theirs, paired by round, where a case of it is equal in all but the
/// algorithm.
void relate_to_native(std::vector<Cell>& cells);

}  // namespace scalebench
