// SPDX-License-Identifier: Apache-2.0
// The losses of a row of scaling.csv, from rows of epoch.csv.
#pragma once

#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// Fills the lost_ columns of `row`, whose h_seconds, ideal_seconds, seconds_median and rho are
/// set: `leg` is its row of epoch.csv and `one` its H. Among `rows` the plain loop on one rank with
/// all images, and the one with one rank's share of them, say what smaller batches cost; without
/// them the loss of computation is not split. Rows without states leave the columns empty.
void set_losses(ResultRow& row, const ResultRow& leg, const ResultRow& one,
                const std::vector<const ResultRow*>& rows);

/// Whether a row of epoch.csv did one rank's share of a run on several.
bool is_share(const ResultRow& row);

/// Equal in everything but N, the strategy and how gradients travel. Strong scaling keeps the
/// global batch, weak scaling each rank's.
bool comparable(const ResultRow& leg, const ResultRow& one);

}  // namespace scalebench
