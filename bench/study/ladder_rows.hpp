// SPDX-License-Identifier: Apache-2.0
// The losses without a trace: from runs that each do one thing more than the one before, for a
// cross-check of the account. One rank alone with its share of the images, all ranks at once,
// input, a barrier a step, the strategy, evaluation.
#pragma once

#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// ladder.csv: a row for each rung of each strategy and N of whose ladder the first rung is among
/// `epoch_rows`. `scaling_rows` hold what the trace says. A rung that was not measured has status
/// `failed` or, with a reason, `skipped`.
std::vector<ResultRow> ladder_rows(const std::vector<ResultRow>& epoch_rows,
                                   const std::vector<ResultRow>& scaling_rows);

}  // namespace scalebench
