// SPDX-License-Identifier: Apache-2.0
// fit.csv as a table for the terminal.
#pragma once

#include <string>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

std::string fit_table(const std::vector<ResultRow>& rows);

}  // namespace scalebench
