// SPDX-License-Identifier: Apache-2.0
// Everything that a study publishes, made from what its launches wrote: one pure function for the
// run that writes the tables, the resumption that writes them again, and whoever verifies them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/record/result_row.hpp"
#include "bench/study/analysis/certificate.hpp"
#include "bench/study/analysis/fit.hpp"
#include "bench/study/analysis/rows.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/plan/plan.hpp"

namespace scalebench {

/// A launch that gave no rows, or not all, and why; "skipped: ..." when it was not started.
struct LostLaunch {
  PlannedLaunch launch;
  std::string why;
};

/// What a study's tables are made of.
struct StudyRows {
  std::string run_id;
  std::string origin;
  std::map<std::string, std::vector<LaunchRows>, std::less<>> launches;  // by case file
  std::vector<ResultRow> bounds;                                         // of all launches
  std::vector<ResultRow> ranks;
  std::vector<ResultRow> links;
  std::vector<LostLaunch> lost;
  std::map<int, bool> is_b;  // of an A/A comparison: the side of each launch
};

/// `plan`: of the run's plan.json; without one, what plan_of_manifest makes of an earlier version's
/// manifest.
StudyRows study_rows_of(StoredRun run, const std::vector<PlannedLaunch>& plan);
std::vector<PlannedLaunch> plan_of_manifest(const StoredRun& run);

/// The side of each launch, by its name: "allreduce-n2-b" is B. Empty unless every name says one.
std::map<int, bool> sides_of(const std::map<int, std::string>& names);
std::map<int, bool> sides_of(const std::vector<PlannedLaunch>& plan);
/// The A/A comparison of allreduce launches of which these are the sides.
Certificate certificate_of(const std::vector<LaunchRows>& launches,
                           const std::map<int, bool>& is_b);

/// Rows by file ("scaling.csv"); a file without rows is not there.
using StudyTables = std::map<std::string, std::vector<ResultRow>, std::less<>>;
StudyTables study_tables(const StudyRows& rows, const FitModel& model);

/// The files that study_tables can make.
const std::vector<const Schema*>& study_table_schemas();

}  // namespace scalebench
