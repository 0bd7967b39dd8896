// SPDX-License-Identifier: Apache-2.0
// A run as its folder holds it: manifest, and what each launch wrote. What verify, compare and the
// nightly gate read; nothing is computed here.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/csv.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"
#include "bench/study/plan/plan.hpp"

namespace scalebench {

/// All rows of one file, which csv_file finds; nothing when it is missing, or cut short within its
/// header. `torn` says whether a last line was cut short and left out. Throws UsageError for a
/// damaged file, for one that lacks a column, and for rows of a later schema version.
std::vector<ResultRow> rows_in(const std::filesystem::path& folder, const Schema& schema,
                               bool* torn = nullptr);

/// What to say of a file whose last line rows_in() left out.
std::string torn_text(const std::filesystem::path& file);

/// The rows that one launch wrote: of its case file and of samples.csv.
struct LaunchRows {
  int launch = 0;
  std::vector<ResultRow> cases;
  std::vector<ResultRow> samples;
  int round = launch;  // of the plan; launches of one round are compared with each other
};

// A launch flushes its rows into files of its own. While one is there it alone says what the launch
// measured; the run's file has a copy. The folder of a launch that ended well goes once
// its rows stand, synced, in the run's files. So no row is lost or counted twice, also when this is
// killed at any moment. The run's samples.csv and monitor.csv say of each row which launch it is
// of. Its case files have one row over all launches; each launch's own rows stand in the files of
// the same names in launches/, behind a column `launch`.

/// The folder of launches, within that of a run.
inline constexpr const char* kLaunches = "launches";
/// A step that a launch recorded, in its folder; once it has ended launches/003-NAME.trace.json.
inline constexpr const char* kTraceFile = "trace.json";

/// "launches/003-allreduce-n2"; ".attempt2" is added to the folder of a second start, so that what
/// may be left of the first one can never write into it.
std::filesystem::path launch_folder(const std::filesystem::path& run, int number,
                                    const std::string& name, int attempt);

/// The number of the next start of a launch, from 1.
int next_attempt(const std::filesystem::path& run, int number, const std::string& name);

/// Writes the run's files of what launches flushed, of those in `manifest.launches`; their rows
/// then name their entry of the plan. The folders of launches that ended well go: what one said on
/// stderr is appended to launches/stderr.log. Returns a line for each torn last line left out.
std::vector<std::string> keep_launches(const std::filesystem::path& run, const Manifest& manifest);

/// Writes the files that keep_launches would: for what no program wrote.
void write_launch_rows(const std::filesystem::path& run, const std::vector<LaunchRows>& launches);

/// Of a run whose writer was killed, or that is to go on: keep_launches, after folders of starts
/// that have no record in `manifest` are entered there as superseded. Returns what was found, a
/// line each. The caller writes the manifest.
std::vector<std::string> recover_run(const std::filesystem::path& run,
                                     const std::vector<PlannedLaunch>& plan, Manifest& manifest);

/// The rows as a CSV file has them, header first.
std::string csv_text(const Schema& schema, const std::vector<ResultRow>& rows);

/// Writes the file of these rows at once; without rows there is none.
void replace_rows(const std::filesystem::path& folder, const Schema& schema,
                  const std::vector<ResultRow>& rows);

struct StoredRun {
  std::filesystem::path folder;
  Manifest manifest;
  /// By case file ("allreduce.csv"), in order of launches. Samples are there only when asked for.
  std::map<std::string, std::vector<LaunchRows>, std::less<>> launches;

  std::vector<ResultRow> hosts{};   // of hosts.csv, of all launches
  std::vector<std::string> torn{};  // a line for each case file without its last line

  const std::vector<LaunchRows>& launches_of(const Schema& schema) const;
};

enum class WithSamples { no, yes };

/// Steps that launches recorded, by the launch's number.
std::map<int, std::filesystem::path> traces_of(const std::filesystem::path& run);

/// Reads `folder`: of a study, or of one benchmark with --out (which counts as one launch).
/// Launches that have not ended and attempts that were superseded are left out. Throws UsageError
/// `file: what` when it is no run, is damaged, or of a later schema version.
StoredRun read_stored_run(const std::filesystem::path& folder, WithSamples samples);

/// The case files that a run can hold.
const std::vector<const Schema*>& case_schemas();

}  // namespace scalebench
