// SPDX-License-Identifier: Apache-2.0
// How the rows that launches flushed get into the run's files: never lost, never counted twice,
// also when this is killed at any moment. A launch's own file is there until its rows stand,
// synced, in the run's; while it is there it alone counts, and what the run's file has of that
// launch goes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"

namespace scalebench {

/// "launches/003-allreduce-n2"; ".attempt2" is added to the folder of a second start, so that what
/// may be left of the first one can never write into it.
std::string launch_folder_name(const std::string& name, int attempt);
std::filesystem::path launch_folder(const std::filesystem::path& run, int number,
                                    const std::string& name, int attempt);

/// The number of the next start of a launch, from 1.
int next_attempt(const std::filesystem::path& run, int number, const std::string& name);

/// Moves what an ended launch flushed into the run's samples.csv, accuracy.csv and monitor.csv.
/// After an interruption recover_run does the rest. Returns a line for each torn last line left
/// out.
std::vector<std::string> keep_rows(const std::filesystem::path& run,
                                   const std::filesystem::path& launch);

/// Makes the files of a run whose writer was killed what they should be: rows of ended launches
/// kept (as keep_rows); folders of starts that have no record in `manifest` entered there as
/// superseded, with all their rows in them. Returns what was found, a line each. The caller writes
/// the manifest.
std::vector<std::string> recover_run(const std::filesystem::path& run, Manifest& manifest);

/// Writes the file of these rows at once; without rows there is none.
void replace_rows(const std::filesystem::path& folder, const Schema& schema,
                  const std::vector<ResultRow>& rows);

}  // namespace scalebench
