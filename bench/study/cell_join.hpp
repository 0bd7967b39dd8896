// SPDX-License-Identifier: Apache-2.0
// Which cells of two runs are the same case, when what they are compared over is itself a
// parameter: two devices, two transports, two algorithms. Case ids then differ; cells are joined by
// the other columns. (Parameters without a column, such as the seed, are then not looked at.)
#pragma once

#include <string>
#include <vector>

#include "bench/study/cell.hpp"

namespace scalebench {

/// The columns of any case file that tell its cases apart, but the number of ranks.
std::vector<std::string_view> parameter_columns();

/// Gives the cells keys made of their parameters without `across`. Throws UsageError, saying how to
/// choose, when two cells of the run then have one key, and for an unknown column.
void join_across(std::vector<Cell>& cells, const std::vector<std::string>& across);

/// Keeps the cells whose `column` is one of `values`; cells without that column stay out. Throws
/// UsageError for an unknown column.
void keep_where(std::vector<Cell>& cells, const std::string& column,
                const std::vector<std::string>& values);

/// For two runs without a cell in common: the fewest columns across which some would be joined, as
/// "device,transport", and how many; empty when there are none.
struct JoinHint {
  std::string across;
  std::size_t cells = 0;
};
JoinHint join_hint(const std::vector<Cell>& a, const std::vector<Cell>& b);

/// What the columns say where they differ: "device: V100 -> K520"; empty when they do not.
std::string differences_across(const ResultRow& a, const ResultRow& b,
                               const std::vector<std::string>& across);

}  // namespace scalebench
