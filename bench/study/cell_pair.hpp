// SPDX-License-Identifier: Apache-2.0
// Cells of two runs that belong together: what a comparison is made of.
#pragma once

#include <vector>

#include "bench/study/cell.hpp"
#include "bench/study/compare_cells.hpp"

namespace scalebench {

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
