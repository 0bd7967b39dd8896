// SPDX-License-Identifier: Apache-2.0
// How much of what a link can carry the gradients used: columns of scaling.csv.
#pragma once

#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/rows.hpp"
#include "bench/study/fit/fit.hpp"

namespace scalebench {

/// Into rows of scaling.csv: what the busiest rank sent in an epoch, by the algorithm's own line,
/// over the seconds of communication, in each round; over what the link was measured to carry:
/// between nodes the slowest one of links.csv, inside a node what bound.csv says memory allows, or
/// else the best allreduce of that size. `link_basis` says which, or why there is no share.
void set_link_shares(std::vector<ResultRow>& scaling_rows, const std::vector<ResultRow>& epoch_rows,
                     const std::vector<LaunchRows>& launches,
                     const std::vector<ResultRow>& allreduce_rows,
                     const std::vector<ResultRow>& bound_rows,
                     const std::vector<ResultRow>& link_rows, const FitModel& model);

}  // namespace scalebench
