// SPDX-License-Identifier: Apache-2.0
// scalebench nightly CONFIG: lock, doctor, A/A, sweep, a slow-down on purpose, suspects again,
// analyse, report, publish. Exit: regression when a cell regressed or is open, or all cells
// shifted, or a host is named and --fail-on suspect; incomplete when cells are missing or invalid,
// the gate was blind, or another night holds the lock; nothing_measured.
#include <fmt/format.h>

#include <array>

#include "bench/cli/command_line.hpp"
#include "bench/cli/help.hpp"
#include "bench/machine/identity.hpp"
#include "bench/measure/clock.hpp"
#include "bench/record/file.hpp"
#include "bench/record/results_folder.hpp"
#include "bench/study/nightly/canary.hpp"
#include "bench/study/nightly/gate.hpp"
#include "bench/study/nightly/measure.hpp"
#include "bench/study/nightly/report.hpp"
#include "bench/study/plan/plan.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

namespace fs = std::filesystem;

struct NightlyOptions : StudyChoice {
  bool beside = true;
  bool canary = true;
  std::string analyse;  // this run again, without measuring
  std::string fail_on = "regression,incomplete";
  int nights = 40;
  int aa_launches = 5;
  std::string scheduled;
  std::string publish;
};

constexpr int kFewestAaLaunches = 4;

FailOn fail_on_of(const NightlyOptions& options) {
  FailOn fail_on;
  fail_on.states.clear();
  constexpr std::array<std::string_view, 4> kStates{"regression", "incomplete", "ambiguous",
                                                    "suspect"};
  for (const std::string& state : split_list("--fail-on", options.fail_on)) {
    require_known("--fail-on", state, kStates);
    fail_on.states.insert(state);
  }
  return fail_on;
}

bool measures(const NightlyOptions& options) { return options.analyse.empty(); }

/// "2026-03-01T04:05:06Z": what a timer can say with date -u +%FT%TZ.
bool is_utc(const std::string& text) {
  std::tm time{};
  return ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time) != nullptr &&
         utc_label(::timegm(&time)) == text;  // no 30th of February
}

void require_valid(const NightlyOptions& options) {
  if (options.analyse.empty() == options.config.empty()) {
    fail<UsageError>("nightly takes either a config to measure or --analyse RUN");
  }
  if (options.nights < static_cast<int>(kFewestNights)) {
    fail<UsageError>("--nights {}: fewer than {} can say nothing", options.nights, kFewestNights);
  }
  if (options.aa_launches < 0 ||
      (options.aa_launches > 0 && options.aa_launches < kFewestAaLaunches)) {
    fail<UsageError>("--aa-launches {}: valid: 0 for none, or {} and more", options.aa_launches,
                     kFewestAaLaunches);
  }
  if (!options.scheduled.empty() && !is_utc(options.scheduled)) {
    fail<UsageError>("--scheduled {}: expected UTC as 2026-03-01T04:05:06Z", options.scheduled);
  }
}

/// Looks before anything is measured; the findings, and the step "doctor".
std::vector<Finding> examine(const NightlyOptions& options, std::vector<NightStep>& steps) {
  std::vector<Finding> findings =
      diagnose(doctor_inputs(options.mpirun.empty() ? "mpirun" : options.mpirun, options.results));
  std::size_t warnings = 0;
  std::string missing;
  for (const Finding& finding : findings) {
    warnings += finding.level == Finding::warning ? 1 : 0;
    if (finding.level == Finding::missing) missing += finding.subject + ": " + finding.text + "; ";
  }
  const char* const status = !missing.empty() ? "failed" : warnings > 0 ? "warning" : "ok";
  steps.push_back(
      {"doctor", status, std::nullopt, fmt::format("{}{} warnings", missing, warnings)});
  return findings;
}

/// A history that cannot be read, or that a clock set back hides, is found before hours are spent
/// on measuring.
void require_readable_history(const NightlyOptions& options, const StudyConfig& config) {
  const Annotations annotations = read_annotations(options.results / "annotations.toml");
  require_clock(options.results, config.name, utc_label(), annotations);
  Manifest tonight;
  tonight.study = config.name;
  tonight.started_utc = "9999";
  tonight.environment = environment_here();
  read_history(options.results, tonight, annotations, static_cast<std::size_t>(options.nights));
}

/// Keys of the time cells to measure again: an efficiency stands for both its times.
std::set<std::string> time_cells(const std::vector<const GateCell*>& suspects) {
  std::set<std::string> keys;
  for (const GateCell* const suspect : suspects) {
    if (suspect->cell.is_time()) {
      keys.insert(suspect->cell.key);
    } else {
      keys.insert({suspect->cell.time_key, suspect->cell.base_key});
    }
  }
  return keys;
}

/// Analyses, writes, reports and publishes a night whose runs are all there.
ExitCode conclude(const NightlyOptions& options, const fs::path& results, const StoredRun& run,
                  const Analysis& analysis, NightRecord night, Console& console) {
  const FailOn fail_on = fail_on_of(options);
  night.run = run.manifest;
  night.run.run_id = run.folder.filename().string();
  night.host = own_host_name();
  night.scheduled_utc = options.scheduled;
  std::vector<LeftOut> unreadable;
  night.aa = aa_before(results, night.run, analysis.input, unreadable);
  for (const LeftOut& aa : unreadable) {
    console.warn(fmt::format("A/A comparison left out: {}", aa.why),
                 fmt::format("scalebench annotate exclude {} --reason TEXT", aa.run_id));
  }
  night.failed_launches = failed_launches(run);
  const fs::path folder = night_folder(results, night.run.run_id);
  if (options.analyse.empty()) {
    night.finished_utc = utc_label();
  } else {
    night.before = measured_before(folder);
    night.changed_libraries = changed_libraries_in(night.before);
    night.finished_utc = finished_in(night.before, run.manifest);
  }
  night.canary = canary_of(results, analysis.input, analysis.report);
  if (!night.canary && analysis.report.tested() > 0) night.canary = canary_that_was_not(night);
  const NightEvents events{.failed_launches = night.failed_launches.size(),
                           .partial = !is_complete(run.folder, run.manifest),
                           .changed_libraries = night.changed_libraries,
                           .aa = night.aa ? night.aa->trouble() : "",
                           .canary = night.canary,
                           .suspect = !night.run.suspects.empty()};
  night.verdict = verdict_of(analysis.report, events, fail_on);
  write_tables(folder, analysis.report);
  write_night(folder, night, analysis);
  const bool drawn = draw(folder, "nightly_report.py", console);
  night.steps.push_back({"report", drawn ? "ok" : "warning", std::nullopt,
                         drawn ? "" : "scripts/nightly_report.py failed: see figures/"});
  const bool publishes = !options.publish.empty();
  night.steps.push_back({"publish", publishes ? "ok" : "skipped", std::nullopt,
                         publishes ? options.publish : "no --publish"});
  write_night(folder, night, analysis);
  if (publishes) {
    try {
      publish(folder, options.publish);
    } catch (const std::exception& error) {
      console.warn(fmt::format("publish: {}", error.what()), "the night itself is complete");
      night.steps.back() = {"publish", "failed", std::nullopt, error.what()};
      write_night(folder, night, analysis);
    }
  }
  if (night.verdict.exit_code == 0 && options.analyse.empty()) {
    write_file_atomically(results / "nightly" / "last_success",
                          fmt::format("{} {}\n", night.finished_utc, night.run.run_id));
  }
  for (const LeftOut& left : analysis.input.history.left_out) {
    console.note(fmt::format("not compared with {}: {}", left.run_id, left.why));
  }
  console.result(nightly_table(analysis.report, night.verdict, night.canary));
  console.note(fmt::format("results: {}", folder.string()));
  return name_suspects({run.folder}, "table", /*fail_on_suspect=*/false, console,
                       static_cast<ExitCode>(night.verdict.exit_code));
}

/// The analysis, and what it takes added to the step "analyse".
Analysis timed_analysis(const NightlyOptions& options, const fs::path& results,
                        const StoredRun& run, NightStep& step) {
  const double begin = local_seconds();
  Analysis analysis = analyse(results, run, static_cast<std::size_t>(options.nights));
  step.name = "analyse";
  step.status = "ok";
  step.seconds = step.seconds.value_or(0) + local_seconds() - begin;
  step.note = fmt::format("{} nights before", analysis.input.history.nights.size());
  return analysis;
}

/// The folder of its run, or of an analysis before: results/nightly/RUN is of results/RUN.
fs::path night_meant(const NightlyOptions& options) {
  if (fs::exists(fs::path(options.analyse) / kNightRecord)) {
    const fs::path analysed = fs::canonical(options.analyse);
    return run_in(analysed.parent_path().parent_path(), analysed.filename());
  }
  return run_in(options.results, options.analyse);
}

ExitCode analyse_again(const NightlyOptions& options, Console& console) {
  const fs::path folder = fs::canonical(night_meant(options));
  if (is_side_run(folder)) {
    fail<UsageError>(
        "--analyse {}: measured beside a night, and none itself; valid: the night's run",
        options.analyse);
  }
  const fs::path results = folder.parent_path();
  const StoredRun run = read_stored_run(folder, WithSamples::no);
  NightRecord night;
  Analysis analysis = timed_analysis(options, results, run, night.steps.emplace_back());
  return conclude(options, results, run, analysis, std::move(night), console);
}

/// The night of a machine that cannot measure anything: it has its record and its reports, so that
/// nothing which shows the last night goes on showing that one.
ExitCode conclude_unmeasured(const NightlyOptions& options, const StudyConfig& config,
                             NightRecord night, Console& console) {
  StoredRun nothing;
  nothing.folder = options.results / fmt::format("{}-{}-unmeasured", utc_name(), config.name);
  nothing.manifest.study = config.name;
  nothing.manifest.started_utc = utc_label();
  nothing.manifest.tool = build_info();
  nothing.manifest.environment = environment_here();
  Analysis analysis = analyse(options.results, nothing, static_cast<std::size_t>(options.nights));
  for (const char* const step : {"aa", "sweep", "beside", "canary", "rerun"}) {
    night.steps.push_back({step, "skipped", std::nullopt, "nothing can be measured here"});
  }
  console.result(render(night.doctor));
  return conclude(options, options.results, nothing, analysis, std::move(night), console);
}

ExitCode measure_night(const NightlyOptions& options, NightSetup setup) {
  Console& console = *setup.console;
  NightRecord night;
  night.steps.push_back({"lock", "ok", std::nullopt, ""});
  require_readable_history(options, setup.config);
  night.doctor = examine(options, night.steps);
  if (doctor_exit_code(night.doctor) != 0) {
    return conclude_unmeasured(options, setup.config, std::move(night), console);
  }
  const Interruption interruption;
  const auto interrupted = [&](const fs::path& folder) {
    const std::string run = (options.results / folder.filename()).string();
    const std::string judge = shell_line({"scalebench", "nightly", "--analyse", run});
    console.warn("interrupted: what was measured is kept", "to judge it: " + judge);
    return interruption.exit_code();
  };
  setup.stop = &interruption.stop();
  if (!setup.accepted.accepted)
    console.note("without the accepted build: " + setup.accepted.why_not);
  night.changed_libraries = setup.accepted.changed_libraries;
  measure_aa(setup, night.steps);
  if (interruption.stop()) {
    console.warn("interrupted: of the night itself nothing was measured yet");
    return interruption.exit_code();
  }
  const fs::path folder = fs::canonical(measure_sweep(setup, night.steps));
  if (interruption.stop()) return interrupted(folder);

  const fs::path results = folder.parent_path();
  const StoredRun run = read_stored_run(folder, WithSamples::no);
  NightStep analysed;
  Analysis analysis = timed_analysis(options, results, run, analysed);
  measure_canary(setup, run, analysis.report, night.steps);
  if (interruption.stop()) return interrupted(folder);
  const std::set<std::string> suspects = time_cells(analysis.report.suspects());
  measure_again(setup, run, suspects, night.steps);
  if (interruption.stop()) return interrupted(folder);
  if (!suspects.empty()) analysis = timed_analysis(options, results, run, analysed);
  night.steps.push_back(analysed);
  return conclude(options, results, run, analysis, std::move(night), console);
}

ExitCode busy(const fs::path& results, const NightlyLock& lock, Console& console) {
  console.warn(
      fmt::format("another night is being measured into {}: {}", results.string(), lock.holder()));
  return ExitCode::incomplete;
}

ExitCode nightly(NightlyOptions options) {
  require_valid(options);
  fail_on_of(options);
  Console console(/*speaks=*/true, options.quiet);
  NightSetup setup;
  setup.console = &console;
  if (measures(options)) {
    // Whose launcher it is waits until the doctor has looked.
    setup.config = config_of(options);
    setup.limits = limits_of(options, setup.config);
    setup.plan = plan_of(setup.config, setup.limits);
    setup.aa_launches = options.aa_launches;
    setup.canary = options.canary;
    setup.options = options;
    setup.accepted = options.beside
                         ? accepted_tonight(options.results, setup.config.name, setup.plan)
                         : AcceptedTonight{{}, {}, {}, "--alone"};
    if (options.dry_run) {
      print_night(setup);
      return ExitCode::ok;
    }
  }
  const NightlyLock lock(options.results);
  if (!lock.held()) return busy(options.results, lock, console);
  return options.analyse.empty() ? measure_night(options, std::move(setup))
                                 : analyse_again(options, console);
}

// nightly accept.

struct AcceptOptions {
  std::string run;
  fs::path results = "results";
};

/// The last complete night; accept_build refuses one that other programs have measured.
std::string last_night(const fs::path& results) {
  const fs::path nights = results / "nightly";
  std::string last, started;
  for (const auto& entry :
       fs::exists(nights) ? fs::directory_iterator(nights) : fs::directory_iterator()) {
    const std::string name = entry.path().filename().string();
    if (!fs::exists(results / name / "manifest.json")) continue;
    const Manifest manifest = read_manifest(results / name);
    if (!is_complete(results / name, manifest) || manifest.started_utc <= started) continue;
    last = name;
    started = manifest.started_utc;
  }
  if (last.empty()) {
    fail<UsageError>("no complete night in {}; valid: nightly accept RUN [--results DIR]",
                     results.string());
  }
  return last;
}

ExitCode accept_night(const AcceptOptions& options) {
  const bool last = options.run.empty() || options.run == kLatest;
  const std::string run =
      last ? last_night(options.results) : name_in(options.results, options.run);
  if (is_side_run(options.results / run)) {
    fail<UsageError>("{}: measured beside a night, and none itself; valid: the night's run", run);
  }
  Console console(/*speaks=*/true, /*quiet=*/false);
  // A night that runs beside the build of before would go on with this one.
  const NightlyLock lock(options.results);
  if (!lock.held()) return busy(options.results, lock, console);
  const AcceptedBuild accepted =
      accept_build(options.results, read_manifest(options.results / run));
  console.result(fmt::format(
      "accepted: build {} of {}, {} programs; later nights of {} run in turns with it; a "
      "regression that is open stays so until scalebench annotate accept\n",
      accepted.tool.name(), accepted.run_id, accepted.programs.size(), accepted.study));
  return ExitCode::ok;
}

/// What says how to measure says nothing beside --analyse.
void exclude_measuring(CLI::App& verb, CLI::Option& analyse) {
  for (const char* const name : {"--dry-run", "--ranks", "--launches", "--alone", "--aa-launches",
                                 "--no-canary", "--hosts", "--mpirun", "--oversubscribe"}) {
    analyse.excludes(verb.get_option(name));
  }
}

}  // namespace

void add_nightly(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<NightlyOptions>(verb, invocation, nightly, measures);
  verb.add_option("config", options.config, "TOML file of the study, as configs/quick.toml");
  CLI::Option& analyse =
      *verb.add_option("--analyse", options.analyse,
                       "do not measure: judge this run again, by name, folder or its nightly/RUN");
  add_shown(verb, "--fail-on", options.fail_on,
            "what the exit code tells, of regression,incomplete,ambiguous,suspect");
  verb.add_option("--publish", options.publish,
                  "copy the reports into this folder too, as for Prometheus' textfile collector");
  verb.add_option("--ranks", options.ranks, "numbers of ranks, as 1,2,4, instead of the config's");
  verb.add_option("--launches", options.launches, "fresh launches of each case");
  add_results_option(verb, options);
  add_run_options(verb, options);
  const Heading method(verb, kMethod);
  verb.add_flag("!--alone", options.beside,
                "not in turns with the accepted build: half the time, and history alone decides");
  add_shown(verb, "--nights", options.nights,
            "nights before that are read; more where a regression is open for longer");
  add_shown(verb, "--aa-launches", options.aa_launches,
            "launches of each side of the A/A comparison; 0: none");
  verb.add_flag("!--no-canary", options.canary,
                "nothing is slowed down on purpose to see whether the gate would find it");
  verb.add_option("--scheduled", options.scheduled,
                  "when the night was meant to begin, as 2026-03-01T04:05:06Z; recorded");
  exclude_measuring(verb, analyse);

  CLI::App& accept = *verb.add_subcommand(
      "accept", "keep the programs here: later nights run in turns with this build");
  auto& accepted = options_of<AcceptOptions>(accept, invocation, accept_night);
  accept.add_option("run", accepted.run, "the night that they measured; default: the last one");
  add_shown(accept, "--results", accepted.results, "the folder of runs");
}

}  // namespace scalebench
