// SPDX-License-Identifier: Apache-2.0
#include "bench/study/nightly/measure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "bench/measure/clock.hpp"
#include "bench/record/run_name.hpp"
#include "bench/study/analysis/pairs.hpp"
#include "bench/study/nightly/canary.hpp"
#include "bench/study/nightly/detection.hpp"
#include "bench/study/nightly/report.hpp"
#include "bench/study/plan/plan.hpp"
#include "bench/study/run/in_turns.hpp"
#include "bench/study/run/rerun.hpp"
#include "bench/study/run/run.hpp"

namespace scalebench {
namespace {

int most_ranks(const NightSetup& setup) {
  int ranks = 1;
  for (const PlannedLaunch& launch : setup.plan) ranks = std::max(ranks, launch.ranks);
  return ranks;
}

/// Empty: there is to be one.
std::string why_no_aa(const NightSetup& setup) {
  if (setup.aa_launches == 0) return "--aa-launches 0";
  return most_ranks(setup) < 2 ? "needs 2 ranks" : "";
}

/// Two sizes of two algorithms on as many ranks as the study has at most: four cells, which five
/// launches a side can tell apart.
ResolvedStudy aa_study_of(const NightSetup& setup) {
  StudyConfig config = setup.config;
  config.name = aa_study(setup.config.name);
  config.launches = setup.aa_launches;
  config.ranks = {most_ranks(setup)};
  config.throughput.reset();
  config.epochs.clear();
  const std::string transport =
      setup.config.allreduce ? setup.config.allreduce->transport : std::string("auto");
  AllreduceStudy& study = config.allreduce.emplace();
  study.algorithms = {"ring", "native"};
  study.transport = transport;
  study.min_bytes = "4KiB";
  study.max_bytes = "1MiB";
  study.factor = 256;
  study.max_seconds = 0.1;
  std::vector<PlannedLaunch> plan = aa_plan(config, setup.limits);
  return resolve(setup.options, std::move(config), setup.limits, std::move(plan));
}

/// From its beginning to its seal.
StudyRun run_to_seal(const NightSetup& setup, const ResolvedStudy& resolved) {
  StudyRun study = open_study(resolved, *setup.console);
  study.measure(*setup.stop);
  study.summarise();
  study.seal(*setup.stop ? "partial" : "complete");
  return study;
}

/// What was measured with today's build, and in turns with it with the accepted one.
struct Measured {
  StudyRun today;
  std::optional<StudyRun> accepted;
};

/// `as_is`: the launches of the accepted build, where they differ from today's.
Measured run_beside(const NightSetup& setup, ResolvedStudy today,
                    std::vector<PlannedLaunch> as_is = {}) {
  const AcceptedTonight& accepted = setup.accepted;
  if (!accepted.accepted) return {run_to_seal(setup, today), std::nullopt};
  StartOptions options = setup.options;
  StudyConfig config = today.config;
  config.name += "-accepted";
  if (as_is.empty()) as_is = today.plan;
  ResolvedStudy other =
      resolve(options, std::move(config), today.limits, std::move(as_is), accepted.build);
  today.pair = other.pair = new_pair();
  other.accepted_run = accepted.accepted->run_id;
  Measured runs{open_study(today, *setup.console), std::nullopt};
  other.options.out = accepted_name(runs.today.folder().string());
  runs.accepted.emplace(open_study(other, *setup.console));
  measure_in_turns(*runs.accepted, runs.today, *setup.stop);
  setup.console->clear_progress();
  for (StudyRun* const run : {&*runs.accepted, &runs.today}) {
    run->summarise();
    run->seal(*setup.stop ? "partial" : "complete");
  }
  return runs;
}

/// How it ended otherwise than well; empty when it did not.
std::string trouble_of(const StudyRun& study, const std::atomic<bool>& stop) {
  if (stop) return "interrupted";
  if (study.failed() == 0) return "";
  return fmt::format("{} launch{} failed", study.failed(), study.failed() == 1 ? "" : "es");
}

std::string trouble_of(const Measured& runs, const std::atomic<bool>& stop) {
  const std::string today = trouble_of(runs.today, stop);
  return today.empty() && runs.accepted ? trouble_of(*runs.accepted, stop) : today;
}

/// What its launches took.
double cost_of(const StudyRun& study) {
  double seconds = 0;
  for (const LaunchRecord& launch : study.manifest().launches) {
    seconds += launch.seconds.value_or(0);
  }
  return seconds;
}

/// What became of the accepted build tonight.
NightStep beside_step(const NightSetup& setup, const Measured& runs) {
  const AcceptedTonight& tonight = setup.accepted;
  if (!runs.accepted) return {"beside", "skipped", std::nullopt, tonight.why_not};
  std::string note = fmt::format("accepted build {} of {}", tonight.accepted->tool.name(),
                                 tonight.accepted->run_id);
  if (!tonight.changed_libraries.empty()) {
    note += fmt::format("; changed since, for both sides: {}",
                        fmt::join(tonight.changed_libraries, ", "));
  }
  const bool too_few = static_cast<std::size_t>(setup.config.launches) < kFewestRounds;
  if (too_few) {
    note +=
        fmt::format("; {} rounds are too few, {} at least: cells are judged by the nights before",
                    setup.config.launches, kFewestRounds);
  }
  const std::string trouble = trouble_of(*runs.accepted, *setup.stop);
  if (!trouble.empty()) note += "; " + trouble;
  return {"beside", trouble.empty() && !too_few ? "ok" : "warning", cost_of(*runs.accepted),
          note + "; its time is part of the sweep's"};
}

}  // namespace

void print_night(const NightSetup& setup) {
  const Console& console = *setup.console;
  if (why_no_aa(setup).empty()) print_plan(aa_study_of(setup), console);
  print_plan(resolve(setup.options, setup.config, setup.limits, setup.plan), console);
  if (setup.accepted.accepted) {
    console.result(fmt::format("# each in turns with the same of the accepted build {}\n",
                               setup.accepted.accepted->tool.name()));
  }
  console.result(fmt::format("# then what these ask for: {}cells that look slower once more\n",
                             setup.canary ? "one program slowed down on purpose; " : ""));
}

std::vector<PlannedLaunch> aa_plan(StudyConfig config, const PlanLimits& limits) {
  config.launches *= 2;
  std::vector<PlannedLaunch> plan = plan_of(config, limits);
  std::mt19937_64 random(config.seed);
  bool is_b = false;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    // The second of a pair is what the first is not.
    is_b = i % 2 == 0 ? random() % 2 == 1 : !is_b;
    plan[i].name += is_b ? "-b" : "-a";
  }
  return plan;
}

void measure_aa(const NightSetup& setup, std::vector<NightStep>& steps) {
  if (const std::string why = why_no_aa(setup); !why.empty()) {
    steps.push_back({"aa", "skipped", std::nullopt, why});
    return;
  }
  const double begin = local_seconds();
  const StudyRun study = run_to_seal(setup, aa_study_of(setup));
  const AaCheck check = aa_check(read_stored_run(study.folder(), WithSamples::no));
  const auto launches = static_cast<std::size_t>(setup.aa_launches);
  const std::size_t needed = launches_needed(check.cells);
  std::string note = trouble_of(study, *setup.stop);
  if (note.empty()) note = check.trouble();
  if (note.empty() && launches < needed) {
    note = fmt::format("{} launches a side cannot find a difference among {} cells: it takes {}",
                       launches, check.cells, needed);
  }
  const bool quiet = note.empty();
  if (!quiet) setup.console->warn("A/A: " + note);
  steps.push_back({"aa", quiet ? "ok" : "warning", local_seconds() - begin, note});
}

std::filesystem::path measure_sweep(const NightSetup& setup, std::vector<NightStep>& steps) {
  const double begin = local_seconds();
  const Measured runs =
      run_beside(setup, resolve(setup.options, setup.config, setup.limits, setup.plan));
  const StudyRun& study = runs.today;
  const std::string note = trouble_of(study, *setup.stop);
  const std::string status = study.measured() == 0 ? "failed" : note.empty() ? "ok" : "warning";
  steps.push_back({"sweep", status, local_seconds() - begin, note});
  steps.push_back(beside_step(setup, runs));
  return study.folder();
}

void measure_canary(const NightSetup& setup, const StoredRun& sweep, const GateReport& report,
                    std::vector<NightStep>& steps) {
  if (!setup.canary) {
    steps.push_back({"canary", "skipped", std::nullopt, std::string(kNoCanary)});
    return;
  }
  CanaryPlan canary = canary_plan(sweep, setup.plan, report);
  if (!canary.why_not.empty()) {
    steps.push_back({"canary", "skipped", std::nullopt, canary.why_not});
    return;
  }
  const double begin = local_seconds();
  StudyConfig config = setup.config;
  config.name += "-canary";
  StartOptions options = setup.options;
  options.out = (sweep.folder.parent_path() / canary_name(sweep.manifest.run_id)).string();
  std::string note =
      fmt::format("{} to be slowed by {:.0f} % on purpose, {} launches", canary.slowed.front().name,
                  100 * kCanaryDrop, canary.slowed.size());
  const Measured runs =
      run_beside(setup, resolve(options, config, setup.limits, std::move(canary.slowed)),
                 std::move(canary.as_is));
  const std::string trouble = trouble_of(runs, *setup.stop);
  if (!trouble.empty()) note += "; " + trouble;
  steps.push_back({"canary", trouble.empty() ? "ok" : "warning", local_seconds() - begin, note});
}

void measure_again(const NightSetup& setup, const StoredRun& sweep,
                   const std::set<std::string>& suspects, std::vector<NightStep>& steps) {
  if (suspects.empty()) {
    steps.push_back({"rerun", "skipped", std::nullopt, "no suspects"});
    return;
  }
  const double begin = local_seconds();
  const auto cells = cells_by_launch(sweep, setup.plan);
  StudyConfig config = setup.config;
  config.name += "-rerun";
  const std::vector<PlannedLaunch> plan =
      rerun_plan(plan_of(config, setup.limits), cells, suspects);
  StartOptions options = setup.options;
  options.out = (sweep.folder.parent_path() / rerun_name(sweep.manifest.run_id)).string();
  const Measured runs = run_beside(setup, resolve(options, config, setup.limits, plan));
  const std::string note = trouble_of(runs, *setup.stop);
  steps.push_back({"rerun", note.empty() ? "ok" : "warning", local_seconds() - begin,
                   note.empty()
                       ? fmt::format("{} cells again, {} launches", suspects.size(), plan.size())
                       : note});
}

}  // namespace scalebench
