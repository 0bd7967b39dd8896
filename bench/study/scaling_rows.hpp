// SPDX-License-Identifier: Apache-2.0
// scaling.csv from epoch rows: every strategy and N beside its H and the ideal H/N.
#pragma once

#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// `epoch_rows`: one a case and N, of which those with rank = all count. A row's H is the
/// `one_device` row on one rank that equals it in everything but N and strategy; its H_raw the
/// `none` row. A row without its H gets status `failed` and says what is missing. Rows of different
/// origin are never divided by each other.
std::vector<ResultRow> scaling_rows(const std::vector<ResultRow>& epoch_rows);

}  // namespace scalebench
