// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/study_reopened.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "bench/record/run_index.hpp"
#include "bench/record/seal.hpp"
#include "bench/record/sha256.hpp"
#include "bench/record/utc_time.hpp"
#include "bench/study/kept_rows.hpp"
#include "bench/study/plan_file.hpp"
#include "bench/verbs/study_setup.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

/// Another config or plan is another study: no option allows that.
void require_same_inputs(const fs::path& folder, const Manifest& manifest) {
  if (manifest.inputs.empty()) {
    fail<UsageError>("'{}' has no plan.json: it is of an earlier version and cannot be resumed",
                     folder.string());
  }
  for (const auto& [name, hash] : manifest.inputs) {
    if (!fs::exists(folder / name) || sha256_of_file(folder / name) != hash) {
      fail<UsageError>("{} is not what the run began with: it cannot be resumed",
                       (folder / name).string());
    }
  }
}

std::string text_of(const BuildInfo& tool) {
  return fmt::format("{}{}", tool.commit.value_or("unknown"),
                     tool.dirty.value_or(false) ? " (modified)" : "");
}

/// What is no longer as at the beginning.
std::vector<std::string> changes_since(const Manifest& manifest,
                                       const std::vector<PlannedLaunch>& plan) {
  std::vector<std::string> changes;
  const std::map<std::string, std::string> binaries = hashes_of_programs(plan);
  for (const auto& [name, hash] : manifest.binaries) {
    const auto found = binaries.find(name);
    if (found != binaries.end() && found->second != hash) {
      changes.push_back(fmt::format("{} is another binary", name));
    }
  }
  const std::string was = text_of(manifest.tool), is = text_of(build_info());
  if (was != is) changes.push_back(fmt::format("the commit was {} and is {}", was, is));
  if (key_hash_of(manifest.environment) != key_hash_of(environment_here())) {
    changes.emplace_back("the hardware is another");
  }
  return changes;
}

/// The record of a launch that is to be started again becomes one of an earlier attempt.
void supersede(Manifest& manifest, bool failed_too) {
  const auto is_due = [&](const LaunchRecord& record) {
    return record.status == "interrupted" || (failed_too && record.status == "failed");
  };
  auto& records = manifest.launches;
  const auto first_due = std::stable_partition(
      records.begin(), records.end(), [&](const LaunchRecord& record) { return !is_due(record); });
  std::move(first_due, records.end(), std::back_inserter(manifest.superseded));
  records.erase(first_due, records.end());
}

void recover(const fs::path& folder, Manifest& manifest, Console& console) {
  for (const std::string& line : recover_run(folder, manifest)) console.note(line);
  write_manifest(folder, manifest);
}

}  // namespace

StudyRun reopen_study(const ResumeOptions& options, Console& console) {
  ResultsFolder folder = ResultsFolder::of_run(options.run);
  FolderLock lock(folder.path());
  require_not_sealed(folder.path());
  Manifest manifest = read_manifest(folder.path());
  require_same_inputs(folder.path(), manifest);
  StoredPlan plan = read_plan(folder.path());
  const std::vector<std::string> changes = changes_since(manifest, plan.launches);
  if (!changes.empty() && !options.allow_changed) {
    fail<UsageError>(
        "'{}' is not resumed: {}; --allow-changed does it all the same, and records that",
        options.run.string(), fmt::join(changes, ", "));
  }
  manifest.finished_utc.clear();
  manifest.status = "partial";
  manifest.files.clear();
  manifest.resumptions.push_back({utc_label(), options.command, changes});
  recover(folder.path(), manifest, console);
  // The manifest says that they are to come before their rows and folders are set aside.
  supersede(manifest, options.failed);
  write_manifest(folder.path(), manifest);
  recover(folder.path(), manifest, console);

  LaunchSettings settings = std::move(plan.settings);
  settings.programs = programs_folder();
  settings.run_id = manifest.run_id;
  if (!settings.hosts.empty()) {
    const HostSurvey survey = survey_hosts(settings, hashes_of_programs(plan.launches));
    add_survey(settings, survey, plan.launches, console);
    replace_rows(folder.path(), hosts_schema(),
                 host_rows(survey, manifest.run_id, manifest.origin));
  }
  const bool indexed = fs::exists(folder.path().parent_path() / kIndexFile);
  return {std::move(folder),
          std::move(lock),
          std::move(plan.launches),
          std::move(settings),
          std::move(manifest),
          indexed,
          console};
}

}  // namespace scalebench
