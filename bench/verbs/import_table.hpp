// SPDX-License-Identifier: Apache-2.0
// What an import brought, for a terminal.
#pragma once

#include <string>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// One line a case, the first of them only when there are many. Names from foreign files are shown
/// so that they cannot steer a terminal.
std::string import_table(const std::vector<ResultRow>& rows);

}  // namespace scalebench
