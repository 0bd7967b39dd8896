// SPDX-License-Identifier: Apache-2.0
// A study spelled out: every start of a program, in the order in which they happen. Pure data: what
// --dry-run prints is what runs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/study/hosts.hpp"
#include "bench/study/study_config.hpp"

namespace scalebench {

/// One start of one program on N ranks.
struct PlannedLaunch {
  int number = 0;       // in the order of the study, from 1
  int round = 0;        // which of the repeated launches, from 0
  std::string name;     // "allreduce-n2", on several hosts "epoch-mlp-mirrored-strong-2x2"
  std::string program;  // "bench_allreduce"
  int ranks = 1;
  int nodes = 1;     // hosts that the ranks are on; 0: the launcher's own arguments say which
  int per_node = 1;  // ranks of each
  std::vector<std::string> arguments;
  std::size_t study = 0;        // epoch launches: which of the config's epoch studies
  std::string gradient_sync;    // epoch launches
  std::string skipped_because;  // not empty: is not started, for this reason
  double guess_seconds = 0;     // before anything was measured: the order of magnitude
};

/// What a study may use.
struct PlanLimits {
  int devices = 1;             // cores, or GPUs where those are used; of all hosts
  bool oversubscribe = false;  // more ranks than devices are allowed
  Hosts hosts{};               // with slots; empty: this one
};

/// All launches: round after round, each round holding every program and layout once, shuffled by
/// the seed. Layouts are the config's, else those of its numbers of ranks, else the default ones.
/// An epoch study adds its baselines on one rank: `none` (a plain loop) and `one_device`. Throws
/// UsageError when more ranks or hosts are asked for than there are.
std::vector<PlannedLaunch> plan_of(const StudyConfig& config, const PlanLimits& limits);

}  // namespace scalebench
