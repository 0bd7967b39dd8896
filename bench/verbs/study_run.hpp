// SPDX-License-Identifier: Apache-2.0
// A study while it runs: starts the planned launches one after the other, keeps what they measured
// after each, and knows at every moment what the results folder should say.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/record/csv.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/collect.hpp"
#include "bench/study/launch.hpp"
#include "bench/study/plan.hpp"

namespace scalebench {

class StudyRun {
 public:
  StudyRun(ResultsFolder folder, std::vector<PlannedLaunch> plan, LaunchSettings settings,
           Manifest manifest, Console& console);

  /// Starts every launch that is still to come. Returns early when `stop` becomes true. After each
  /// launch its samples are in samples.csv and the manifest is up to date.
  void measure(const std::atomic<bool>& stop);

  /// Writes the case files, the fits and scaling.csv from what was measured.
  void summarise();
  /// Writes one more file of rows, unless there are none.
  void write(const Schema& schema, const std::vector<ResultRow>& rows) const;
  /// The manifest with the hashes of all files; `complete` or `partial`.
  void seal(const std::string& status);

  const std::filesystem::path& folder() const { return folder_.path(); }
  const Manifest& manifest() const { return manifest_; }
  const std::vector<ResultRow>& scaling() const { return scaling_; }
  const std::vector<ResultRow>& fits() const { return fits_; }
  /// What each launch wrote into that case file.
  std::vector<LaunchRows> launches(const Schema& schema) const;
  std::size_t failed() const { return failed_; }
  std::size_t measured() const { return measured_; }

 private:
  void measure_one(const PlannedLaunch& launch, const std::atomic<bool>& stop);
  void keep(const PlannedLaunch& launch, const std::filesystem::path& folder);
  /// Appends a file that a launch wrote beside its case file to the run's own and removes it.
  void append(const Schema& schema, const std::filesystem::path& folder);
  double seconds_left(std::size_t next) const;
  double expected_seconds(const PlannedLaunch& launch) const;
  void note_lost_launches(std::vector<ResultRow>& rows) const;
  std::vector<ResultRow> failed_scaling_rows() const;
  void fit(const std::vector<ResultRow>& allreduce_rows);

  ResultsFolder folder_;
  std::vector<PlannedLaunch> plan_;
  LaunchSettings settings_;
  Manifest manifest_;
  Console& console_;
  CsvWriter samples_;
  std::map<std::string, std::vector<LaunchRows>> rows_;  // by case file
  std::vector<ResultRow> bounds_;                        // of all launches
  std::vector<ResultRow> rank_rows_;
  std::map<std::string, std::vector<double>> seconds_of_;    // by launch name
  std::vector<std::pair<PlannedLaunch, std::string>> lost_;  // launches without rows, and why
  std::vector<ResultRow> scaling_;
  std::vector<ResultRow> fits_;
  std::optional<double> begin_utc_seconds_;  // of the first launch that was monitored
  std::size_t failed_ = 0;
  std::size_t measured_ = 0;
};

/// The case file that a program writes.
const Schema& schema_of_program(const std::string& program);

}  // namespace scalebench
