// SPDX-License-Identifier: Apache-2.0
// What a night measures: an A/A comparison, the sweep, the suspects again. Each is a run folder of
// its own.
#pragma once

#include <atomic>
#include <optional>
#include <set>
#include <string>

#include "bench/study/nightly/accepted.hpp"
#include "bench/study/nightly/gate.hpp"
#include "bench/study/nightly/report.hpp"
#include "bench/study/run/resolved_study.hpp"

namespace scalebench {

/// What a measuring step needs.
struct NightSetup {
  StartOptions options;
  StudyConfig config;
  PlanLimits limits;
  std::vector<PlannedLaunch> plan;  // of the sweep
  AcceptedTonight accepted;         // runs in turns with the sweep, where it can
  int aa_launches = 5;              // of each side; 0: none
  bool canary = true;
  Console* console = nullptr;
  const std::atomic<bool>* stop = nullptr;
};

/// --dry-run: the plan of all that is sure to be measured, to stdout, and what more there may be.
void print_night(const NightSetup& setup);

// The launches of the A/A comparison: pairs of an A and a B, whose names end with -a and -b. Which
// of the two comes first is drawn anew for each pair, so that a drift of the machine favours
// neither.

/// `config` holds an [allreduce] alone, on one number of ranks; its launches are those of a side.
std::vector<PlannedLaunch> aa_plan(StudyConfig config, const PlanLimits& limits);

/// Adds the step "aa". Does nothing when none is wanted or there is one rank only.
void measure_aa(const NightSetup& setup, std::vector<NightStep>& steps);

/// The sweep's folder; the accepted build's is beside it, called accepted_name of it. Adds the
/// steps "sweep" and "beside".
std::filesystem::path measure_sweep(const NightSetup& setup, std::vector<NightStep>& steps);

/// Measures one set of launches again, slowed down on purpose, in turns with the accepted build if
/// the sweep was: canary.hpp judges it. Adds the step "canary".
void measure_canary(const NightSetup& setup, const StoredRun& sweep, const GateReport& report,
                    std::vector<NightStep>& steps);

/// Measures again what holds `suspects` (keys of time cells), in turns with the accepted build if
/// the sweep was. Adds the step "rerun".
void measure_again(const NightSetup& setup, const StoredRun& sweep,
                   const std::set<std::string>& suspects, std::vector<NightStep>& steps);

}  // namespace scalebench
