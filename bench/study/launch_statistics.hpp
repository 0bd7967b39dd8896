// SPDX-License-Identifier: Apache-2.0
// The statistics of one launch once more, from its samples alone: what its case file should say.
#pragma once

#include <vector>

#include "bench/study/collect.hpp"
#include "bench/study/fit_rows.hpp"

namespace scalebench {

/// The launch's case rows, in their order, with every column that follows from samples (times,
/// rates, skew) made anew; the others are as they were. Rows without a time stay as they are.
std::vector<ResultRow> recomputed_rows(const LaunchRows& launch, const FitModel& model);

}  // namespace scalebench
