// SPDX-License-Identifier: Apache-2.0
// The analysis of a night, made from run folders alone and written beside them: results/nightly/
// <run>/ with gate.csv, history.csv, nightly.json and the reports. May be made again at any time.
#pragma once

#include <filesystem>
#include <string>

#include "bench/cli/console.hpp"
#include "bench/study/night_record.hpp"

namespace scalebench {

struct Analysis {
  GateInput input;
  GateReport report;
};

/// Tonight's run in `results` against the last `nights` before it. Throws UsageError where a run
/// or the annotations cannot be read.
Analysis analyse(const std::filesystem::path& results, const StoredRun& tonight,
                 std::size_t nights);

/// The A/A run that belongs to a night: the last of its study that ended before it and after the
/// night before; none: nothing.
std::optional<AaCheck> aa_before(const std::filesystem::path& results, const Manifest& tonight,
                                 const std::optional<Manifest>& previous);

std::string aa_study(const std::string& study);

std::vector<FailedLaunch> failed_launches(const StoredRun& run);

/// The folder of the analysis; made.
std::filesystem::path night_folder(const std::filesystem::path& results, const std::string& run_id);

/// Writes gate.csv and history.csv, each of them at once.
void write_tables(const std::filesystem::path& folder, const GateReport& report);

/// The folder's nightly.json of an analysis before; null or discarded when there is none to read.
nlohmann::json measured_before(const std::filesystem::path& folder);

/// Writes nightly.json, atomically.
void write_night(const std::filesystem::path& folder, const NightRecord& night,
                 const Analysis& analysis);

/// Copies what reports and dashboards read into another folder, each file atomically. Returns how
/// many; throws Error when one cannot be written.
std::size_t publish(const std::filesystem::path& folder, const std::filesystem::path& to);

}  // namespace scalebench
