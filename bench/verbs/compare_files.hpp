// SPDX-License-Identifier: Apache-2.0
// A comparison as files: compare.csv, cost.csv, break_even.csv, compare.json, and the figure.
#pragma once

#include <string>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/verbs/compare_report.hpp"

namespace scalebench {

/// The rows as a CSV file has them, header first.
std::string csv_text(const Schema& schema, const std::vector<ResultRow>& rows);

/// Writes everything into `folder`, which is made and must hold no run or comparison yet, and draws
/// the figure; without matplotlib that is a warning.
void write_comparison(const std::string& folder, const CompareReport& report, Console& console);

}  // namespace scalebench
