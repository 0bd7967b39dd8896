// SPDX-License-Identifier: Apache-2.0
// A study spelled out: every start of a program, in the order in which they happen. Pure data: what
// --dry-run prints is what runs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/study/study_config.hpp"

namespace scalebench {

/// One start of one program on N ranks.
struct PlannedLaunch {
  int number = 0;       // in the order of the study, from 1
  int round = 0;        // which of the repeated launches, from 0
  std::string name;     // "allreduce-n2", "epoch-mlp-mirrored-strong-n2": of its folder
  std::string program;  // "bench_allreduce"
  int ranks = 1;
  std::vector<std::string> arguments;
  std::size_t study = 0;        // epoch launches: which of the config's epoch studies
  std::string gradient_sync;    // epoch launches
  std::string skipped_because;  // not empty: is not started, for this reason
  double guess_seconds = 0;     // before anything was measured: the order of magnitude
};

/// What a study may use on this machine.
struct PlanLimits {
  int devices = 1;             // cores, or GPUs where those are used
  bool oversubscribe = false;  // more ranks than devices are allowed
};

/// 1, 2, 4, ... and `devices` itself.
std::vector<int> default_ranks(int devices);

/// All launches: round after round, each round holding every program and N once, shuffled by the
/// seed. An epoch study adds its baselines on one rank: `none` (a plain loop) and `one_device`.
/// Throws UsageError when more ranks than devices are asked for and that is not allowed.
std::vector<PlannedLaunch> plan_of(const StudyConfig& config, const PlanLimits& limits);

}  // namespace scalebench
