// SPDX-License-Identifier: Apache-2.0
// Where the time of an epoch went, as columns of epoch.csv and as a line for humans.
#pragma once

#include <string>

#include "bench/epoch_case.hpp"
#include "bench/record/result_row.hpp"

namespace scalebench {

/// The epoch with the middle time: its states sum to what a single epoch took, as means over epochs
/// would not. At least one epoch.
const EpochMeasurement& middle_of(const EpochRun& run);

/// The states of one rank of an epoch.
void set_states(ResultRow& row, const States& of_rank, const EpochMeasurement& epoch);
/// Their means over all ranks, and the rank that was last most often.
void set_states(ResultRow& row, const EpochMeasurement& epoch);

/// "       where it went: compute 92.1 % · wait 5.0 % (rank 1 last in 80 % of steps) ...\n"
std::string where_it_went(const EpochMeasurement& epoch);

}  // namespace scalebench
