// SPDX-License-Identifier: Apache-2.0
#include "bench/study/run/open.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "bench/launch/host_survey.hpp"
#include "bench/machine/digest.hpp"
#include "bench/record/file.hpp"
#include "bench/record/run_index.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/plan/plan_file.hpp"
#include "bench/study/run/setup.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kBytesNeeded = 100'000'000;

/// Makes the hosts of `settings` those that the survey found usable, with what they call
/// themselves, and warns of the others. Throws UsageError when ranks would share cores there.
void add_survey(LaunchSettings& settings, const HostSurvey& survey,
                const std::vector<PlannedLaunch>& plan, Console& console) {
  for (const SurveyedHost& host : survey.hosts) {
    if (host.usable()) {
      settings.host_names[host.host.name] = survey.name_of(host.host.name);
    } else {
      console.warn(printable(host.note), "launches on as many hosts as are left go on");
    }
  }
  settings.hosts = survey.usable();
  if (settings.hosts.empty()) {
    fail<UsageError>("no host is left: {}", printable(survey.hosts.front().note));
  }
  require_devices(survey, plan, settings);
  const std::string machine = survey.one_machine();
  if (machine.empty() || says_emulated(settings)) return;
  console.warn(machine, "their rows are emulated");
  settings.environment.emplace_back(kEmulatedVariable, machine);
  settings.bind_to_core = false;  // each of them would begin with the machine's first core
}

/// The files that say what the run is to be, and whose hashes the manifest keeps.
void write_inputs(const fs::path& folder, const ResolvedStudy& study, Manifest& manifest) {
  for (const auto& [name, text] : {std::pair("config.toml", config_text(study.config)),
                                   std::pair(kPlanFile, plan_text({study.plan, study.settings}))}) {
    write_file_atomically(folder / name, text);
    manifest.inputs[name] = sha256_of(text);
  }
}

}  // namespace

Manifest manifest_of(const ResolvedStudy& study, const LaunchSettings& settings) {
  Manifest manifest;
  manifest.run_id = settings.run_id;
  manifest.study = study.config.name;
  manifest.origin = origin_of(settings);
  manifest.started_utc = utc_label();
  manifest.command = study.options.command;
  manifest.seed = study.config.seed;
  manifest.config = study.config.text;
  manifest.tool = build_info();
  if (study.options.job) manifest.job = json_of(*study.options.job);
  manifest.binaries = study.binaries;
  manifest.environment = environment_here();
  const int threads = static_cast<int>(study.config.threads);
  manifest.warnings = warnings(manifest.environment, threads * most_ranks_of_a_host(study.plan));
  return manifest;
}

StudyRun open_study(const ResolvedStudy& study, Console& console) {
  const StartOptions& options = study.options;
  LaunchSettings usable = study.settings;
  HostSurvey survey;
  if (!usable.hosts.empty()) {
    survey = survey_hosts(study.settings, study.binaries);
    add_survey(usable, survey, study.plan, console);
  }
  const ResultsFolder folder =
      options.out.empty() ? ResultsFolder::create(options.results, study.config.name, kBytesNeeded)
                          : ResultsFolder::at(options.out, kBytesNeeded);
  FolderLock lock(folder.path());
  usable.run_id = folder.run_id();
  Manifest manifest = manifest_of(study, usable);
  if (options.job) console.note(describe(*options.job));
  for (const Warning& warning : manifest.warnings) console.warn(warning.text, warning.remedy);
  write_inputs(folder.path(), study, manifest);
  write_manifest(folder.path(), manifest);
  const std::vector<ResultRow> hosts = host_rows(survey, folder.run_id(), manifest.origin);
  if (!hosts.empty()) replace_rows(folder.path(), hosts_schema(), hosts);
  const bool indexed = options.out.empty();
  return {folder, std::move(lock), study.plan, usable, std::move(manifest), indexed, console};
}

// An unfinished one.

namespace {

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
