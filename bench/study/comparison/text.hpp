// SPDX-License-Identifier: Apache-2.0
// cost.csv and break_even.csv as tables for the terminal; empty for no rows.
#pragma once

#include <string>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

std::string cost_table(const std::vector<ResultRow>& rows);
std::string break_even_table(const std::vector<ResultRow>& rows);

/// "g2.2xlarge is cheaper than p3.8xlarge from N = 2 on", for one row of break_even.csv.
std::string break_even_text(const ResultRow& row);

}  // namespace scalebench
