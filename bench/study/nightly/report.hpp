// SPDX-License-Identifier: Apache-2.0
// All that is known of a night, as nightly.json holds it for the reports.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/launch/doctor.hpp"
#include "bench/record/manifest.hpp"
#include "bench/study/nightly/gate.hpp"

namespace scalebench {

struct NightStep {
  std::string name;               // lock doctor aa sweep beside canary rerun analyse report publish
  std::string status;             // ok warning failed skipped
  std::optional<double> seconds;  // none: not measured, as of a step that did not run
  std::string note;
};

/// The note of the step "canary" of a night that was told to slow nothing down on purpose.
inline constexpr std::string_view kNoCanary = "--no-canary";

/// The A/A comparison of the night: launches of one build, those of which the name ends with -a
/// against those with -b.
struct AaCheck {
  std::string run;
  std::size_t cells = 0;
  std::size_t differing = 0;
  std::size_t missing = 0;  // on one side or both
  double spread = kNotMeasured;
  double smallest_effect = kNotMeasured;

  /// What was not compared, or how it differs from itself in more cells than chance allows; empty:
  /// neither.
  std::string trouble() const;
};
AaCheck aa_check(const StoredRun& run);

struct FailedLaunch {
  int number = 0;
  std::string name;  // of its folder, without the number
  std::string why;
  std::string stderr_tail;
};

struct NightRecord {
  Manifest run;  // the sweep's
  std::string host;
  std::string scheduled_utc;  // empty: not told
  std::string finished_utc;
  NightVerdict verdict;
  std::vector<NightStep> steps;
  std::optional<AaCheck> aa;
  std::optional<Canary> canary{};                // none: nothing was slowed on purpose
  std::vector<std::string> changed_libraries{};  // since the build beside was accepted
  std::vector<FailedLaunch> failed_launches;
  std::vector<Finding> doctor;
  nlohmann::json before;  // an earlier nightly.json of this night, which knows what was done when
                          // it was measured; else null
};

// The analysis of a night, made from run folders alone and written beside them: results/nightly/
// <run>/ with gate.csv, history.csv, nightly.json and the reports. May be made again at any time.

struct Analysis {
  std::filesystem::path results;  // absolute
  GateInput input;
  GateReport report;
};

/// Tonight's run in `results` against the last `nights` before it. Throws UsageError where a run
/// or the annotations cannot be read.
Analysis analyse(const std::filesystem::path& results, const StoredRun& tonight,
                 std::size_t nights);

/// The A/A run that belongs to a night: the last of its study that began before it and after the
/// night before; none: nothing. An excluded one is none, nor is one that cannot be read, which is
/// added to `unreadable`.
std::optional<AaCheck> aa_before(const std::filesystem::path& results, const Manifest& tonight,
                                 const GateInput& input, std::vector<LeftOut>& unreadable);

std::vector<FailedLaunch> failed_launches(const StoredRun& run);

/// The folder of the analysis; made.
std::filesystem::path night_folder(const std::filesystem::path& results, const std::string& run_id);

/// Writes gate.csv and history.csv, each of them at once.
void write_tables(const std::filesystem::path& folder, const GateReport& report);

/// The folder's nightly.json of an analysis before; null or discarded when there is none to read.
nlohmann::json measured_before(const std::filesystem::path& folder);

/// Which libraries it says had changed under the build beside.
std::vector<std::string> changed_libraries_in(const nlohmann::json& record);

/// When that night was over; empty: not known.
std::string finished_in(const nlohmann::json& record, const Manifest& run);

/// Of a night that was to slow something down on purpose and found nothing to: why. Else none.
/// The record's steps are those of an earlier analysis.
std::optional<Canary> canary_that_was_not(const NightRecord& night);

/// Writes nightly.json, atomically.
void write_night(const std::filesystem::path& folder, const NightRecord& night,
                 const Analysis& analysis);

/// Copies what reports and dashboards read into another folder, each file atomically. Returns how
/// many. Throws Error when one cannot be written, UsageError when another study's night is there.
std::size_t publish(const std::filesystem::path& folder, const std::filesystem::path& to);

}  // namespace scalebench
