// SPDX-License-Identifier: Apache-2.0
// What was measured as text: tables for a terminal, and lines for a program that reads a job's log.
// Rows in, text out.
#pragma once

#include <string>
#include <vector>

#include "bench/record/result_row.hpp"

namespace scalebench {

/// A line for each row of scaling.csv, throughput.csv (all ranks) or allreduce.csv that is `ok`,
/// which a regular expression can pick up from a job's log:
///   scalebench: COLUMN=WORD ...
/// Of a file always the same columns in the same order: what tells cases apart, of which case_id is
/// the last, then what was measured. Words consist of [A-Za-z0-9_.+-].
std::string metric_lines(const std::vector<ResultRow>& rows);

/// summary.csv as a table for the terminal.
std::string scaling_table(const std::vector<ResultRow>& summary);

/// One sentence: which training is farthest from H/N, and the largest of its losses, each with its
/// interval and whether that holds nothing; empty where no efficiency is known.
std::string answer_of(const std::vector<ResultRow>& summary);

/// What a run is shown by at its end and by `show`: the scaling and the answer; of a run without a
/// summary the times and rates, which are rows of epoch.csv, throughput.csv, allreduce.csv and
/// kernels.csv.
std::string result_text(const std::vector<ResultRow>& summary,
                        const std::vector<std::vector<ResultRow>>& rates);

}  // namespace scalebench
