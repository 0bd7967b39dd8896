// SPDX-License-Identifier: Apache-2.0
// One sample of the monitor as rows of monitor.csv.
#pragma once

#include <vector>

#include "bench/record/device_load.hpp"
#include "bench/record/host_load.hpp"
#include "bench/record/result_row.hpp"

namespace scalebench {

/// Two readings of a machine, `seconds` apart: shares and rates between them, amounts as in `now`.
/// `common`: a row of monitor.csv with what all rows have. The first row of the result is the
/// machine's, then one for each card.
std::vector<ResultRow> monitor_rows(const ResultRow& common, const HostLoad& before,
                                    const HostLoad& now, double seconds,
                                    const std::vector<DeviceLoad>& devices);

}  // namespace scalebench
