// SPDX-License-Identifier: Apache-2.0
// The accepted build of a study on this hardware: its programs, kept beside the results. Where
// tonight's differ from them, both run in turns, and what differs is the build; what they do
// themselves from night to night is the machine.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/record/manifest.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/run/resolved_study.hpp"

namespace scalebench {

struct AcceptedBuild {
  std::string study;
  std::string run_id;  // the night that measured it
  std::string accepted_utc, reason;
  BuildInfo tool;
  std::map<std::string, std::string> programs;  // name: SHA-256
};

/// results/nightly/STUDY-KEY: what nights of this study on this hardware keep.
std::filesystem::path study_folder(const std::filesystem::path& results, const std::string& study,
                                   const Environment& environment);

/// Keeps the programs of `run` as the accepted build of its study; an earlier one is replaced once
/// the new one is whole. Throws UsageError unless `run` is complete, of this hardware, and measured
/// by the programs here; DiskFull where they find no room.
AcceptedBuild accept_build(const std::filesystem::path& results, const Manifest& run,
                           const std::string& reason);

/// A program that is not what was accepted.
struct ChangedProgram {
  std::string name, accepted, tonight;  // SHA-256; empty: the accepted build has none
};

/// What of the accepted build there is tonight.
struct AcceptedTonight {
  std::optional<AcceptedBuild> accepted;  // none: no build is accepted yet
  std::optional<Build> build;             // to start, where `changed` is not empty
  std::vector<ChangedProgram> changed;    // of the plan's programs
  std::string why_not;                    // not empty: it cannot be used, for this reason
};

/// Looks for the accepted build of `study`, in what it differs from the programs here, and, where
/// it does, whether it is what it was and starts. Throws UsageError for a program that is not here,
/// nothing for a build that cannot be used.
AcceptedTonight accepted_tonight(const std::filesystem::path& results, const std::string& study,
                                 const std::vector<PlannedLaunch>& plan);

// A study by the programs here, in turns with those of another build where there is one; and its
// suspects again. Each is a run folder of its own.

struct BesideStudy {
  StartOptions options;  // `out` is the run's folder; side runs have its name and a word
  StudyConfig config;
  PlanLimits limits;
  std::vector<PlannedLaunch> plan;
  std::optional<Build> beside;      // the other build
  std::string inject, inject_into;  // a fault, and the program here that it is put into
};

void measure_beside(const BesideStudy& study, const std::atomic<bool>& stop, Console& console);

/// A machine that is slow just now is not to be taken for a slow cell: suspects are measured again
/// beside at least so many cells that are none.
inline constexpr std::size_t kControls = 2;

/// Of `plan`, all rounds, the launches whose entries hold one of `suspects`, which are keys of
/// `cells`, and as many of the shortest others as it takes for the controls; numbered anew.
std::vector<PlannedLaunch> plan_holding(std::vector<PlannedLaunch> plan,
                                        const std::vector<Cell>& cells,
                                        const std::set<std::string>& suspects);

/// Measures what holds `suspects`, keys of cells, in as many rounds again.
void measure_again(const BesideStudy& study, const std::set<std::string>& suspects,
                   const std::atomic<bool>& stop, Console& console);

}  // namespace scalebench
