// SPDX-License-Identifier: Apache-2.0
// A study while it runs: opens a folder of its own, or that of an unfinished run, starts the
// planned launches that have not ended yet, one after the other, and keeps what each measured. All
// it knows is in the run's folder, so that it may be killed at any moment and taken up again.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/launch/launcher.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/analysis/tables.hpp"
#include "bench/study/run/resolved_study.hpp"

namespace scalebench {

class StudyRun {
 public:
  /// `manifest` is what the folder's manifest.json says; `lock` is held on that folder.
  StudyRun(std::filesystem::path folder, FolderLock lock, std::vector<PlannedLaunch> plan,
           LaunchSettings settings, Manifest manifest, Console& console);

  /// Starts every launch that has not ended. Returns early when `stop` becomes true. After each
  /// launch the manifest says so. Throws DiskFull, and says how to go on.
  void measure(const std::atomic<bool>& stop);
  /// One launch of the plan, by its place in it, unless it has ended. `label` is for the progress.
  void measure(std::size_t place, const std::string& label, const std::atomic<bool>& stop);

  /// A launch that has its folder, and is started and waited for by whoever has begun it.
  struct Begun {
    PlannedLaunch planned;
    LaunchRecord record;
    std::filesystem::path folder;
    double deadline_seconds = 0;
    LaunchEnd run(const Variables& environment, const std::atomic<bool>& stop) const;
  };
  /// The same in two steps. Nothing to begin where it has ended, or is not to be started.
  /// `share`: of the launch's time in which it is its turn; its limits are that much longer.
  std::optional<Begun> begin(std::size_t place, const std::string& label, double share = 1);
  void finish(Begun begun, const LaunchEnd& end);

  /// Writes the tables from what was measured, and the manifest with the hashes of all files. Of a
  /// run that is `whole` the seal too: nothing may be written any more. Throws DiskFull as measure.
  void close(bool whole);

  const std::filesystem::path& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }
  /// The rows of one file that close has made.
  std::vector<ResultRow> table(const Schema& schema) const;
  std::size_t failed() const { return count("failed"); }
  std::size_t measured() const { return count("ok"); }
  const std::vector<PlannedLaunch>& plan() const { return plan_; }
  const LaunchSettings& settings() const { return settings_; }

 private:
  void or_how_to_go_on(const auto& work) const;
  void write_tables();
  void enter(LaunchRecord record);
  bool has_ended(const PlannedLaunch& launch) const;
  std::size_t count(std::string_view status) const;
  double seconds_left(std::size_t next) const;
  double expected_seconds(const PlannedLaunch& launch) const;

  std::filesystem::path folder_;
  FolderLock lock_;
  std::vector<PlannedLaunch> plan_;
  LaunchSettings settings_;
  Manifest manifest_;
  Console& console_;
  StudyTables tables_;
};

/// Looks at the hosts, makes the folder with its config.toml, plan.json and manifest and passes on
/// the warnings. Throws UsageError, before there is a folder, when no host is left or the folder
/// cannot hold a run.
StudyRun open_study(const ResolvedStudy& study, Console& console);

/// What the run began with is still the same, what ended is kept, what did not is set aside; failed
/// launches are kept where these are accepted. `command` is argv as typed. Takes the run's folder
/// for this process. Throws UsageError, one line: it is no run, complete, or
/// being written; its config or plan was changed; the programs or the hardware are not those that
/// it began with; what its launches need is not here.
StudyRun reopen_study(const std::filesystem::path& run, bool accept_failed,
                      const std::vector<std::string>& command, Console& console);

}  // namespace scalebench
