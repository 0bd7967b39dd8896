// SPDX-License-Identifier: Apache-2.0
// Rows of prediction.csv as a person reads them: the error where it is known, what is predicted,
// what would change it.
#pragma once

#include <string>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

std::string predict_table(const std::vector<ResultRow>& rows);

}  // namespace scalebench
