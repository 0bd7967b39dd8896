// SPDX-License-Identifier: Apache-2.0
// Everything that a study publishes, made from what its launches wrote: one pure function for the
// run that writes the tables, the resumption that writes them again, and whoever verifies them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/scaling.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/plan/plan.hpp"

namespace scalebench {

/// Rows by file ("scaling.csv"); a file without rows is not there.
using StudyTables = std::map<std::string, std::vector<ResultRow>, std::less<>>;

/// `run` was read with its samples. `plan`: of its plan.json; an import has none, and its case file
/// and what imported_legs() say.
StudyTables study_tables(const StoredRun& run, const std::vector<PlannedLaunch>& plan);

/// Of an import. Empty where none has a base.
std::vector<Leg> imported_legs(const std::vector<Cell>& epochs);

/// Their summary.csv, scaling.csv and losses.csv.
void put_answers(StudyTables& tables, const std::vector<Leg>& legs);

/// The rate of a row with its interval: "12.31 [12.10, 12.52] GB/s busbw", "2470.0 images/s"; empty
/// where the row has none.
std::string rate_of(const ResultRow& row);
/// Behind it, of a row of allreduce.csv: "  1.20x native [1.16, 1.25] FASTER"; empty where nothing
/// says.
std::string native_of(const ResultRow& row);
/// What stands above both.
std::string rates_heading(const std::vector<const ResultRow*>& rows);

/// The files that study_tables can make.
const std::vector<const Schema*>& study_table_schemas();

}  // namespace scalebench
