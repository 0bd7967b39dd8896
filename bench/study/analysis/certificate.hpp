// SPDX-License-Identifier: Apache-2.0
// What an A/A comparison shows about the machine and the suite: how many cells differ although
// nothing does, how far apart equal things are measured, and which difference would be seen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/rows.hpp"

namespace scalebench {

/// The share of cells that may differ by chance.
inline constexpr double kMayDiffer = 0.05;

struct Certificate {
  std::vector<ResultRow> rows;  // of certificate.csv, one a cell
  std::size_t cells = 0;        // compared or missing; without the skipped
  std::size_t compared = 0;
  std::size_t differing = 0;
  std::size_t ambiguous = 0;
  std::size_t launches_needed = 0;  // a side, to find anything among so many cells
  double spread = 0;                // 95 % of the ratios lie within 1/(1+spread) .. 1+spread
  double smallest_effect = 0;       // would have been seen in 95 % of the cells
  std::string incomplete;           // why nothing can be certified; else empty

  bool certified() const {
    return incomplete.empty() && compared > 0 &&
           static_cast<double>(differing) <= kMayDiffer * static_cast<double>(cells);
  }
};

/// Compares the launches of both sides, rows of allreduce.csv. A cell that any launch found wrong,
/// or that one side has not measured, is MISSING; one that all launches skipped is no cell.
Certificate certificate_of(const std::vector<LaunchRows>& a, const std::vector<LaunchRows>& b);

/// Of rows of certificate.csv: 95 % of their ratios lie within 1/(1+spread) .. 1+spread; NaN when
/// none has a ratio.
double spread_of(const std::vector<ResultRow>& certificate_rows);

}  // namespace scalebench
