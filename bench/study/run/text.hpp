// SPDX-License-Identifier: Apache-2.0
// A certificate for the terminal: a line for each cell, the two numbers that count, the verdict.
#pragma once

#include <string>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/certificate.hpp"

namespace scalebench {

/// `failed_launches`: those that ended without a result; with any, nothing is certified.
std::string certificate_table(const Certificate& certificate, std::size_t failed_launches);

// fit.csv as a table for the terminal.

std::string fit_table(const std::vector<ResultRow>& rows);

// scaling.csv as a table for the terminal.

std::string scaling_table(const std::vector<ResultRow>& rows);

}  // namespace scalebench
