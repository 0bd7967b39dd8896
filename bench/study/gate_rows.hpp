// SPDX-License-Identifier: Apache-2.0
// The gate's findings as rows of gate.csv and history.csv.
#pragma once

#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/gate.hpp"

namespace scalebench {

/// One row a cell and metric; worst verdicts first, then in the order of the cells.
std::vector<ResultRow> gate_rows(const GateReport& report);

/// One row a cell, metric and night, of the last nights, oldest first; empty values where a cell
/// was not measured.
std::vector<ResultRow> history_rows(const GateReport& report);

}  // namespace scalebench
