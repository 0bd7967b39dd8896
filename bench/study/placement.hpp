// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a launch really were, by the program's own word (placement.csv), against where
// they were asked to be: blocks of ranks, host after host.
#pragma once

#include <string>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/launch.hpp"

namespace scalebench {

/// One line that says the first difference, empty where there is none. `rows`: of placement.csv.
/// Slurm may take the hosts in its own order.
std::string misplaced(const std::vector<ResultRow>& rows, const PlannedLaunch& launch,
                      const LaunchSettings& settings);

}  // namespace scalebench
