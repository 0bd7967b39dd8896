// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/accepted.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <set>
#include <sstream>

#include "bench/launch/process.hpp"
#include "bench/machine/digest.hpp"
#include "bench/record/file.hpp"
#include "bench/record/json_members.hpp"
#include "bench/record/run_name.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/analysis/stored_run.hpp"
#include "bench/study/nightly/baseline.hpp"
#include "kernels/error.hpp"

namespace scalebench {

namespace fs = std::filesystem;

static void members(auto& visit, AcceptedBuild& build) {
  visit("study", build.study);
  visit("run_id", build.run_id);
  visit("accepted_utc", build.accepted_utc);
  visit("tool", build.tool);
  visit("key_hash", build.key_hash);
  visit("programs", build.programs);
  visit("libraries", build.libraries);
}

namespace {

constexpr const char* kRecord = "accepted.json";
constexpr const char* kPrograms = "bin";
constexpr std::uintmax_t kSpare = 20'000'000;

constexpr const char* kFresh = ".new";
constexpr const char* kOld = ".old";

/// One for each study and hardware: several machines may share a results folder.
fs::path folder_of(const fs::path& results, const std::string& study, const std::string& key) {
  constexpr std::size_t kDigits = 8;
  return results / "nightly" / "accepted" / fmt::format("{}-{}", study, key.substr(0, kDigits));
}

/// What the loader finds for the program, by path.
std::set<fs::path> libraries_of(const fs::path& program) {
  constexpr int kPatienceSeconds = 20;
  const CommandAnswer answer = ask({"ldd", fs::absolute(program).string()}, kPatienceSeconds);
  std::set<fs::path> libraries;
  std::istringstream lines(answer.output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t arrow = line.find(" => /");
    if (arrow == std::string::npos) continue;
    const std::size_t begin = arrow + 4;
    libraries.insert(line.substr(begin, line.find(" (", begin) - begin));
  }
  return libraries;
}

/// Accepted builds of the study, of whatever hardware.
std::size_t builds_of(const fs::path& results, const std::string& study) {
  std::size_t count = 0;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(results / "nightly" / "accepted", none)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kFresh) || name.ends_with(kOld)) continue;  // of an accept that was killed
    try {
      const auto build =
          read_document(entry.path() / kRecord, "an accepted build",
                        [](const nlohmann::json& object) { return object.get<AcceptedBuild>(); });
      count += build.study == study ? 1 : 0;
    } catch (const std::exception&) {
      // One that cannot be read is none.
    }
  }
  return count;
}

void require_same_programs(const Manifest& run, const fs::path& programs) {
  std::vector<std::string> others;
  for (const auto& [name, hash] : run.binaries) {
    const fs::path program = programs / name;
    if (!fs::exists(program) || sha256_of_file(program) != hash) others.push_back(name);
  }
  if (run.binaries.empty()) fail<UsageError>("{} names no programs", run.run_id);
  if (others.empty()) return;
  fail<UsageError>(
      "{} was measured by another build than the one in {} ({}); valid: a night of these programs, "
      "or nightly accept of the scalebench that measured it",
      run.run_id, programs.string(), fmt::join(others, ", "));
}

/// Names of programs that are no longer what was accepted.
std::vector<std::string> damaged(const AcceptedBuild& accepted, const fs::path& bin) {
  std::vector<std::string> names;
  for (const auto& [name, hash] : accepted.programs) {
    std::error_code ignored;
    if (!fs::is_regular_file(bin / name, ignored) || sha256_of_file(bin / name) != hash) {
      names.push_back(name);
    }
  }
  return names;
}

/// The run in `results` and the accepted build's of the same pair, where both are there.
struct Both {
  StoredRun today, accepted;
};
std::optional<Both> both_in(const fs::path& results, const std::string& run_id) {
  const fs::path today = results / run_id, accepted = results / accepted_name(run_id);
  if (!fs::exists(today / "manifest.json") || !fs::exists(accepted / "manifest.json")) return {};
  const Manifest manifest = read_manifest(today);
  if (manifest.pair.empty() || read_manifest(accepted).pair != manifest.pair) return {};
  return Both{read_stored_run(today, WithSamples::no), read_stored_run(accepted, WithSamples::no)};
}

/// By cell, one a round; NaN where one of the two lacks it.
CellRatios ratios_of(const Both& runs) {
  std::map<std::string, Cell> accepted;
  for (Cell& cell : cells_of(runs.accepted)) accepted.emplace(cell.key, std::move(cell));
  CellRatios ratios;
  for (const Cell& cell : cells_of(runs.today)) {
    const auto beside = accepted.find(cell.key);
    if (beside == accepted.end() || !cell.measured() || !beside->second.measured()) continue;
    const std::map<int, double> a = beside->second.seconds_by_round();
    std::vector<double>& rounds = ratios[cell.key + "/seconds"];
    for (const auto& [round, seconds] : cell.seconds_by_round()) {
      rounds.resize(std::max(rounds.size(), static_cast<std::size_t>(round) + 1), kNotMeasured);
      const auto found = a.find(round);
      if (found != a.end()) rounds[static_cast<std::size_t>(round)] = seconds / found->second;
    }
  }
  return ratios;
}

/// The same for the same programs.
std::string hash_of(const std::map<std::string, std::string>& binaries) {
  std::string all;
  for (const auto& [name, hash] : binaries) all += name + " " + hash + "\n";
  return sha256_of(all);
}

AcceptedTonight without(std::string why) { return {{}, {}, {}, std::move(why)}; }

}  // namespace

AcceptedBuild accept_build(const fs::path& results, const Manifest& run) {
  const fs::path here = programs_folder();
  const std::string key = key_hash_of(environment_here());
  if (run.status != "complete") fail<UsageError>("{} is not complete", run.run_id);
  if (key_hash_of(run.environment) != key) {
    fail<UsageError>("{} was measured on other hardware than this", run.run_id);
  }
  require_same_programs(run, here);
  AcceptedBuild accepted{.study = run.study,
                         .run_id = run.run_id,
                         .accepted_utc = utc_label(),
                         .tool = run.tool,
                         .key_hash = key,
                         .programs = {},
                         .libraries = {}};
  const fs::path folder = folder_of(results, run.study, key);
  const fs::path fresh = folder.string() + kFresh, old = folder.string() + kOld;
  fs::remove_all(fresh);
  fs::create_directories(fresh / kPrograms);
  std::set<std::string> names{"scalebench"};
  for (const auto& [name, hash] : run.binaries) names.insert(name);
  std::uintmax_t bytes = kSpare;
  for (const std::string& name : names) bytes += fs::file_size(here / name);
  try {
    require_space(fresh, bytes);
    for (const std::string& name : names) {
      fs::copy_file(here / name, fresh / kPrograms / name);
      accepted.programs[name] = sha256_of_file(fresh / kPrograms / name);
      for (const fs::path& library : libraries_of(here / name)) {
        accepted.libraries.emplace(library.string(), sha256_of_file(library));
      }
    }
    write_file_atomically(fresh / kRecord, document(accepted));
  } catch (...) {
    fs::remove_all(fresh);
    throw;
  }
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(fresh);
    return accepted;
  }
  // The first one, or a file system that cannot exchange two: a night that looks in between finds
  // none, and says so.
  fs::remove_all(old);
  if (fs::exists(folder)) fs::rename(folder, old);
  fs::rename(fresh, folder);
  fs::remove_all(old);
  return accepted;
}

fs::path accepted_programs(const fs::path& results, const Manifest& run) {
  return folder_of(results, run.study, key_hash_of(run.environment)) / kPrograms;
}

AcceptedTonight accepted_tonight(const fs::path& results, const std::string& study,
                                 const std::vector<PlannedLaunch>& plan) {
  const std::string key = key_hash_of(environment_here());
  const fs::path folder = folder_of(results, study, key);
  if (!fs::exists(folder / kRecord)) {
    const std::size_t others = builds_of(results, study);
    return without(fmt::format(
        "{}: scalebench nightly accept RUN keeps one",
        others == 0 ? std::string("no build of this study is accepted yet")
                    : fmt::format("no build of this study is accepted for this hardware, {} for "
                                  "other hardware",
                                  others)));
  }
  AcceptedTonight tonight;
  const fs::path bin = folder / kPrograms;
  try {
    tonight.accepted =
        read_document(folder / kRecord, "an accepted build",
                      [](const nlohmann::json& object) { return object.get<AcceptedBuild>(); });
    const AcceptedBuild& accepted = *tonight.accepted;
    if (const auto names = damaged(accepted, bin); !names.empty()) {
      return without(fmt::format("the accepted build is damaged: {} in {} is not what was accepted",
                                 fmt::join(names, ", "), bin.string()));
    }
    for (const PlannedLaunch& launch : plan) {
      if (accepted.programs.contains(launch.program)) continue;
      return without(fmt::format("the accepted build has no {}", launch.program));
    }
    tonight.build = build_in(bin);
    for (const auto& [library, hash] : accepted.libraries) {
      std::error_code ignored;
      const bool same = fs::exists(library, ignored) && sha256_of_file(library) == hash;
      if (!same) tonight.changed_libraries.push_back(library);
    }
  } catch (const std::exception& error) {
    return without(fmt::format("the accepted build cannot be used: {}", error.what()));
  }
  return tonight;
}

CellRatios ratios_beside(const fs::path& results, const std::string& run_id) {
  const std::optional<Both> runs = both_in(results, run_id);
  return runs ? ratios_of(*runs) : CellRatios();
}

std::optional<BesideNight> beside_night(const fs::path& results, const std::string& run_id) {
  const std::optional<Both> runs = both_in(results, run_id);
  if (!runs) return std::nullopt;
  const Manifest& manifest = runs->accepted.manifest;
  BesideNight beside{.run_id = manifest.accepted_run,
                     .build = manifest.tool.name(),
                     .hash = hash_of(manifest.binaries),
                     .ratios = ratios_of(*runs),
                     .rerun_ratios = {},
                     .accepted = night_of(runs->accepted),
                     .accepted_rerun = {}};
  if (const std::optional<Both> again = both_in(results, rerun_name(run_id))) {
    beside.rerun_ratios = ratios_of(*again);
    beside.accepted_rerun = night_of(again->accepted);
  }
  return beside;
}

}  // namespace scalebench
