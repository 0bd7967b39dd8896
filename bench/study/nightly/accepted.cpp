// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/accepted.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "bench/machine/digest.hpp"
#include "bench/record/file.hpp"
#include "bench/record/json_members.hpp"
#include "bench/record/run_name.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/in_turns.hpp"
#include "bench/study/run/run.hpp"
#include "kernels/error.hpp"

namespace scalebench {

namespace fs = std::filesystem;

static void members(auto& visit, AcceptedBuild& build) {
  visit("study", build.study);
  visit("run_id", build.run_id);
  visit("accepted_utc", build.accepted_utc);
  visit("reason", build.reason);
  visit("tool", build.tool);
  visit("programs", build.programs);
}

namespace {

constexpr const char* kRecord = "accepted.json";
constexpr const char* kPrograms = "programs-";

fs::path programs_in(const fs::path& study, const std::string& run_id) {
  return study / (kPrograms + run_id);
}

/// None where nothing is accepted yet.
std::optional<AcceptedBuild> read_accepted(const fs::path& study) {
  if (!fs::exists(study / kRecord)) return {};
  return read_document(study / kRecord, "an accepted build",
                       [](const nlohmann::json& object) { return object.get<AcceptedBuild>(); });
}

/// Names of `programs` that are not in `folder` as they were.
std::vector<std::string> others_in(const fs::path& folder,
                                   const std::map<std::string, std::string>& programs) {
  std::vector<std::string> others;
  for (const auto& [name, hash] : programs) {
    const fs::path file = folder / name;
    if (!fs::is_regular_file(file) || sha256_of_file(file) != hash) others.push_back(name);
  }
  return others;
}

void require_same_programs(const Manifest& run, const fs::path& here) {
  if (run.binaries.empty()) fail<UsageError>("{} names no programs", run.run_id);
  const std::vector<std::string> others = others_in(here, run.binaries);
  if (others.empty()) return;
  fail<UsageError>(
      "{} was measured by another build than the one in {} ({}); valid: a night of these programs, "
      "or nightly accept of the scalebench that measured it",
      run.run_id, here.string(), fmt::join(others, ", "));
}

}  // namespace

fs::path study_folder(const fs::path& results, const std::string& study,
                      const Environment& environment) {
  constexpr std::size_t kDigits = 8;
  const std::string key = key_hash_of(environment).substr(0, kDigits);
  return results / "nightly" / fmt::format("{}-{}", study, key);
}

AcceptedBuild accept_build(const fs::path& results, const Manifest& run,
                           const std::string& reason) {
  constexpr std::uintmax_t kSpare = 20'000'000;
  if (run.status != "complete") fail<UsageError>("{} is not complete", run.run_id);
  if (key_hash_of(run.environment) != key_hash_of(environment_here())) {
    fail<UsageError>("{} was measured on other hardware than this", run.run_id);
  }
  const fs::path from = programs_folder();
  require_same_programs(run, from);
  const fs::path study = study_folder(results, run.study, run.environment);
  const fs::path to = programs_in(study, run.run_id);
  std::set<std::string> names{"scalebench"};  // which says what the others are
  for (const auto& [name, hash] : run.binaries) names.insert(name);
  std::uintmax_t bytes = kSpare;
  for (const std::string& name : names) bytes += fs::file_size(from / name);
  fs::remove_all(to);
  fs::create_directories(to);
  require_space(to, bytes);
  for (const std::string& name : names) fs::copy_file(from / name, to / name);
  AcceptedBuild accepted{run.study, run.run_id, utc_label(), reason, run.tool, {}};
  for (const std::string& name : names) accepted.programs[name] = sha256_of_file(to / name);
  write_file_atomically(study / kRecord, document(accepted));
  for (const fs::path& entry : std::vector<fs::path>(fs::directory_iterator(study), {})) {
    const bool programs = entry.filename().string().starts_with(kPrograms);
    if (programs && entry != to) fs::remove_all(entry);
  }
  return accepted;
}

AcceptedTonight accepted_tonight(const fs::path& results, const std::string& study,
                                 const std::vector<PlannedLaunch>& plan) {
  const fs::path folder = study_folder(results, study, environment_here());
  const std::map<std::string, std::string> here = hashes_of_programs(plan, programs_folder());
  AcceptedTonight tonight;
  try {
    tonight.accepted = read_accepted(folder);
    if (!tonight.accepted) return tonight;
    const AcceptedBuild& accepted = *tonight.accepted;
    for (const auto& [name, hash] : here) {
      const auto its = accepted.programs.find(name);
      const std::string before = its == accepted.programs.end() ? "" : its->second;
      if (before != hash) tonight.changed.push_back({name, before, hash});
      if (before.empty()) tonight.why_not = fmt::format("the accepted build has no {}", name);
    }
    if (tonight.changed.empty() || !tonight.why_not.empty()) return tonight;
    const fs::path programs = programs_in(folder, accepted.run_id);
    if (const auto names = others_in(programs, accepted.programs); !names.empty()) {
      fail<UsageError>("{} in {} is not what was accepted", fmt::join(names, ", "),
                       programs.string());
    }
    tonight.build = build_in(programs);
  } catch (const std::exception& error) {
    tonight.why_not = fmt::format("the accepted build cannot be used: {}", error.what());
  }
  return tonight;
}

void measure_beside(const BesideStudy& study, const std::atomic<bool>& stop, Console& console) {
  ResolvedStudy here = resolve(study.options, study.config, study.limits, study.plan);
  for (PlannedLaunch& launch : here.plan) {
    if (study.inject.empty() || launch.program != study.inject_into) continue;
    launch.arguments.insert(launch.arguments.end(), {"--inject", study.inject});
  }
  if (!study.beside) {
    StudyRun run = open_study(here, console);
    run.measure(stop);
    close_run(run, stop, /*accept_failed=*/false, console);
    return;
  }
  StartOptions options = study.options;
  options.out = accepted_name(options.out);
  measure_pair(resolve(options, study.config, study.limits, study.plan, *study.beside),
               std::move(here), stop, console);
}

std::vector<PlannedLaunch> plan_holding(std::vector<PlannedLaunch> plan,
                                        const std::vector<Cell>& cells,
                                        const std::set<std::string>& suspects) {
  std::set<std::string> entries;
  std::map<std::string, std::size_t> controls;  // by entry
  for (const Cell& cell : cells) {
    const std::string& entry = cell.row.get("entry");
    if (suspects.contains(cell.key)) {
      entries.insert(entry);
    } else {
      ++controls[entry];
    }
  }
  std::size_t beside = 0;
  for (const std::string& entry : entries) beside += controls[entry];
  std::vector<PlannedLaunch> shortest = plan;
  std::ranges::stable_sort(shortest, {}, &PlannedLaunch::guess_seconds);
  for (const PlannedLaunch& launch : shortest) {
    const bool wanted = !entries.empty() && beside < kControls && controls[launch.name] > 0;
    if (wanted && entries.insert(launch.name).second) beside += controls[launch.name];
  }
  std::erase_if(plan, [&](const PlannedLaunch& launch) {
    return !entries.contains(launch.name) || !launch.skipped_because.empty();
  });
  int number = 0;
  for (PlannedLaunch& launch : plan) launch.number = ++number;
  return plan;
}

void measure_again(const BesideStudy& study, const std::set<std::string>& suspects,
                   const std::atomic<bool>& stop, Console& console) {
  BesideStudy again = study;
  again.options.out = rerun_name(study.options.out);
  const StoredRun run = read_stored_run(study.options.out, WithSamples::no);
  again.plan = plan_holding(study.plan, cells_of(run), suspects);
  measure_beside(again, stop, console);
}

}  // namespace scalebench
