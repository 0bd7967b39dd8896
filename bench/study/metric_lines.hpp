// SPDX-License-Identifier: Apache-2.0
// Results as lines that a regular expression can pick up from a job's log:
//   scalebench: metric=NAME LABEL=WORD ... value=NUMBER
// Words consist of [A-Za-z0-9_.+-]; the labels of a metric are always the same, in the same order.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// One line for each metric of each row that is `ok` and has it: of scaling.csv efficiency, speedup
/// and epoch_seconds, of throughput.csv (all ranks) images_per_s, of allreduce.csv busbw_gb_per_s.
std::string metric_lines(const std::vector<ResultRow>& rows);

/// Those of a run's folder.
std::string metric_lines(const std::filesystem::path& run);

}  // namespace scalebench
