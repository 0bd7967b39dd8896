// SPDX-License-Identifier: Apache-2.0
// The accepted build of a study on this hardware: its programs, kept beside the results. Where
// tonight's differ from them, both run in turns, and what differs is the build; what they do
// themselves from night to night is the machine.
#pragma once

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/record/manifest.hpp"
#include "bench/study/analysis/cells.hpp"
#include "bench/study/run/resolved_study.hpp"

namespace scalebench {

/// results/nightly/STUDY-KEY: what nights of this study on this hardware keep.
std::filesystem::path study_folder(const std::filesystem::path& results, const std::string& study,
                                   const Environment& environment);

/// Keeps the programs of `run` as the accepted build of its study; an earlier one is replaced once
/// the new one is whole. Throws UsageError unless `run` is complete, of this hardware, and measured
/// by the programs here.
void accept_build(const std::filesystem::path& results, const Manifest& run,
                  const std::string& reason);

/// What of the accepted build there is tonight.
struct AcceptedTonight {
  nlohmann::json accepted{};     // its run, when and why, and its tool; null: none is accepted yet
  bool changed = false;          // a program of the plan is not what was accepted
  std::optional<Build> build{};  // to start, where one is
  std::string why_not{};         // not empty: it cannot be used, for this reason
};

/// Looks for the accepted build of `study`, in what it differs from the programs here, and, where
/// it does, whether it is what it was and starts. Throws UsageError for a program that is not here,
/// nothing for a build that cannot be used.
AcceptedTonight accepted_tonight(const std::filesystem::path& results, const std::string& study,
                                 const std::vector<PlannedLaunch>& plan);

// A study by the programs here, in turns with those of another build where there is one; and its
// suspects again. Each is a run folder of its own.

struct NightSetup {
  ResolvedStudy study;  // its `out` is the run's folder; side runs have its name and a word
  AcceptedTonight accepted;
  std::optional<ResolvedStudy> beside{};  // the same by the other build
};

void measure_beside(const NightSetup& night, const std::atomic<bool>& stop, Console& console);

/// Of `plan`, all rounds, the launches whose entries hold one of `suspects`, which are keys of
/// `cells`, and the shortest other ones, numbered anew: beside cells that are no suspects, a
/// machine that is slow just now is not to be taken for a slow cell.
std::vector<PlannedLaunch> plan_holding(std::vector<PlannedLaunch> plan,
                                        const std::vector<Cell>& cells,
                                        const std::set<std::string>& suspects);

/// Measures what holds `suspects`, keys of cells, in as many rounds again.
void measure_again(const NightSetup& night, const std::set<std::string>& suspects,
                   const std::atomic<bool>& stop, Console& console);

}  // namespace scalebench
