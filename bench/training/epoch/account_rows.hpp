// SPDX-License-Identifier: Apache-2.0
// Where the time of a run's epochs went, as columns of epoch.csv, as a line on stdout and as what
// there is to note about it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/training/epoch/measure.hpp"

namespace scalebench {

/// The epoch in the middle by its time, of an even number the two: their parts sum to the median,
/// as means over all epochs would not. At least one epoch.
using MiddleEpochs = std::vector<const EpochMeasurement*>;
MiddleEpochs middle_of(const EpochRun& run);

/// The account's columns, mean over all ranks and these epochs, and which rank is last. What is not
/// known in one of the epochs stays empty.
void set_account(ResultRow& row, const MiddleEpochs& middle);

/// Why columns of the account are empty; empty when none is.
std::string account_note(const MiddleEpochs& middle);

/// "       where it went: compute 92.1 % · wait 5.0 % (for rank 1 on host2 in 80 % of steps)
/// ...\n": for whom the others most often waited, where that is more than chance and the ranks have
/// cores of their own: where they share them, the scheduler says who comes last. `hosts`: by rank.
std::string where_it_went(const EpochMeasurement& epoch, bool on_cpu, bool oversubscribed,
                          const std::vector<std::string>& hosts);

}  // namespace scalebench
