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
#include "kernels/json/parse_json.hpp"

namespace scalebench {

namespace fs = std::filesystem;

namespace {

constexpr const char* kAcceptedFile = "accepted.json";
constexpr const char* kPrograms = "programs-";

using Hashes = std::map<std::string, std::string>;  // SHA-256 by name

/// Names of `programs` that are not in `folder` as they were.
std::vector<std::string> others_in(const fs::path& folder, const Hashes& programs) {
  std::vector<std::string> others;
  for (const auto& [name, hash] : programs) {
    const fs::path file = folder / name;
    if (!fs::is_regular_file(file) || sha256_of_file(file) != hash) others.push_back(name);
  }
  return others;
}

void require_same_programs(const Manifest& run, const fs::path& here) {
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

void accept_build(const fs::path& results, const Manifest& run, const std::string& reason) {
  if (run.status != "complete") fail<UsageError>("{} is not complete", run.run_id);
  if (key_hash_of(run.environment) != key_hash_of(environment_here())) {
    fail<UsageError>("{} was measured on other hardware than this", run.run_id);
  }
  const fs::path from = programs_folder();
  require_same_programs(run, from);
  const fs::path study = study_folder(results, run.study, run.environment);
  const fs::path to = study / (kPrograms + run.run_id);
  fs::remove_all(to);
  fs::create_directories(to);
  fs::copy_file(from / "scalebench", to / "scalebench");  // which says what the others are
  for (const auto& [name, hash] : run.binaries) fs::copy_file(from / name, to / name);
  write_file_atomically(study / kAcceptedFile, document({{"run", run.run_id},
                                                         {"utc", utc_label()},
                                                         {"reason", nullable(reason)},
                                                         {"tool", json_of(run)["tool"]}}));
  for (const fs::path& entry : std::vector<fs::path>(fs::directory_iterator(study), {})) {
    const bool programs = entry.filename().string().starts_with(kPrograms);
    if (programs && entry != to) fs::remove_all(entry);
  }
}

AcceptedTonight accepted_tonight(const fs::path& results, const std::string& study,
                                 const std::vector<PlannedLaunch>& plan) {
  const fs::path folder = study_folder(results, study, environment_here());
  const Hashes here = hashes_of_programs(plan, programs_folder());
  AcceptedTonight tonight;
  const fs::path file = folder / kAcceptedFile;
  if (!fs::exists(file)) return tonight;
  try {
    tonight.accepted = parse_json(read_file(file), file.string(), "expected an accepted build");
    const auto its = tonight.accepted.at("tool").at("binaries").get<Hashes>();
    for (const auto& [name, hash] : here) {
      if (!its.contains(name)) fail("it has no {}", name);
      tonight.changed = tonight.changed || its.at(name) != hash;
    }
    if (!tonight.changed) return tonight;
    const fs::path programs = folder / (kPrograms + tonight.accepted.at("run").get<std::string>());
    if (const auto names = others_in(programs, its); !names.empty()) {
      fail("{} in {} is not what was accepted", fmt::join(names, ", "), programs.string());
    }
    tonight.build = build_in(programs);
  } catch (const std::exception& error) {
    tonight.why_not = fmt::format("the accepted build cannot be used: {}", error.what());
  }
  return tonight;
}

void measure_beside(const NightSetup& night, const std::atomic<bool>& stop, Console& console) {
  if (night.beside) {
    measure_pair(*night.beside, night.study, stop, console);
    return;
  }
  StudyRun run = open_study(night.study, console);
  run.measure(stop);
  close_run(run, stop, /*accept_failed=*/false, console);
}

std::vector<PlannedLaunch> plan_holding(std::vector<PlannedLaunch> plan,
                                        const std::vector<Cell>& cells,
                                        const std::set<std::string>& suspects) {
  std::set<std::string> entries, others;
  for (const Cell& cell : cells) {
    (suspects.contains(cell.key) ? entries : others).insert(cell.row.get("entry"));
  }
  const PlannedLaunch* control = nullptr;
  for (const PlannedLaunch& launch : plan) {
    const bool is_one = others.contains(launch.name) && !entries.contains(launch.name);
    const bool shorter = control == nullptr || launch.guess_seconds < control->guess_seconds;
    if (is_one && shorter) control = &launch;
  }
  if (control != nullptr) entries.insert(control->name);
  std::erase_if(plan, [&](const PlannedLaunch& launch) {
    return !entries.contains(launch.name) || !launch.skipped_because.empty();
  });
  int number = 0;
  for (PlannedLaunch& launch : plan) launch.number = ++number;
  return plan;
}

void measure_again(const NightSetup& night, const std::set<std::string>& suspects,
                   const std::atomic<bool>& stop, Console& console) {
  const std::string out = rerun_name(night.study.options.out);
  const auto cells = cells_of(read_stored_run(night.study.options.out, WithSamples::no));
  const auto of_suspects = [&](const ResolvedStudy& sweep, const std::string& folder) {
    StartOptions options = sweep.options;
    options.out = folder;
    return resolve(options, sweep.config, sweep.limits, plan_holding(sweep.plan, cells, suspects),
                   sweep.build);
  };
  NightSetup again{of_suspects(night.study, out), night.accepted};
  if (night.beside) again.beside = of_suspects(*night.beside, accepted_name(out));
  measure_beside(again, stop, console);
}

}  // namespace scalebench
