// SPDX-License-Identifier: Apache-2.0
// scalebench reproduce RUN: the same study again, into a new folder, and per cell whether it came
// out the same. Exit: ok: every cell is SAME; regression: one is DIFFERENT, or a host is named and
// --fail-on suspect; incomplete: one is AMBIGUOUS or MISSING, or the launches are too few;
// nothing_measured.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/cli/command_line.hpp"
#include "bench/machine/digest.hpp"
#include "bench/machine/environment.hpp"
#include "bench/study/comparison/comparison.hpp"
#include "bench/study/comparison/report.hpp"
#include "bench/study/plan/plan.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/resolved_study.hpp"
#include "bench/study/run/run.hpp"
#include "bench/study/run/setup.hpp"
#include "bench/study/verbs/verb.hpp"
#include "kernels/error.hpp"

namespace scalebench {
namespace {

struct ReproduceOptions : StartOptions {
  std::filesystem::path run;
};

/// The study as it was measured: the config with what the command line had changed. Where neither
/// says how many ranks, those that were started; this machine's own number may be another.
StudyConfig config_of(const Manifest& original) {
  StudyConfig config = parse_study_config(original.config, original.run_id, known_names());
  config.name = original.study;
  const std::string ranks = argument_of(original.command, "--ranks");
  const std::string launches = argument_of(original.command, "--launches");
  if (!launches.empty()) config.launches = parse_counts("--launches", launches).front();
  if (!ranks.empty()) config.ranks = parse_counts("--ranks", ranks);
  const std::string layouts = argument_of(original.command, "--layouts");
  const std::string hosts = argument_of(original.command, "--hosts");
  if (!hosts.empty()) config.hosts = hosts;
  if (!layouts.empty()) config.layouts = parse_layouts(layouts);
  if (original.seed) config.seed = *original.seed;
  if (!config.ranks.empty() || !config.layouts.empty()) return config;
  std::set<int> started;
  for (const LaunchRecord& launch : original.launches) started.insert(launch.ranks);
  config.ranks.assign(started.begin(), started.end());
  return config;
}

Manifest original_of(const ReproduceOptions& options) {
  Manifest original = read_manifest(options.run);
  if (original.config.empty()) {
    fail<UsageError>(
        "{}: no study that scalebench run made (it has no configuration); repeat its command: {}",
        options.run.string(),
        original.command.empty() ? "(not recorded)" : shell_line(original.command));
  }
  if (original.origin != "measured" && original.origin != "emulated") {
    fail<UsageError>("{} is {}: nothing was measured that could be measured again",
                     options.run.string(), original.origin);
  }
  return original;
}

/// Refused before hours are spent on what could not be compared afterwards.
void require_same_origin(const Manifest& original, const StudyConfig& config) {
  const int devices = devices_of(config);
  int most = 1;
  for (const int ranks : config.ranks) most = std::max(most, ranks);
  for (const Layout& layout : config.layouts) most = std::max(most, layout.per_node);
  const std::string origin = timed_origin(most > devices || shares_gpus(config, most));
  if (original.origin == origin) return;
  fail<UsageError>(
      "{} is {}, and its {} ranks on the {} core(s) or device(s) here would be {}: rows of "
      "different origin are never compared",
      original.run_id, original.origin, most, devices, origin);
}

ExitCode exit_code_of(const Comparison& found) {
  if (found.tested() == 0) return ExitCode::nothing_measured;
  if (found.faster + found.slower > 0) return ExitCode::regression;
  const bool open = found.ambiguous + found.missing + found.blind > 0;
  return open ? ExitCode::incomplete : ExitCode::ok;
}

/// The comparison's table, in which faster and slower are both just different.
std::string table_of(CompareReport report) {
  for (ResultRow& row : report.comparison.rows) {
    const std::string& verdict = row.get("verdict");
    if (verdict == "FASTER" || verdict == "SLOWER") row.set("verdict", "DIFFERENT");
  }
  Comparison& found = report.comparison;
  std::string table = compare_table(report, /*changed_only=*/false);
  const char* const word = report.code == ExitCode::ok           ? "REPRODUCED"
                           : report.code == ExitCode::regression ? "NOT REPRODUCED"
                                                                 : "OPEN";
  return table + fmt::format("{}: {} SAME, {} DIFFERENT, {} AMBIGUOUS, {} MISSING\n", word,
                             found.same, found.faster + found.slower, found.ambiguous,
                             found.missing);
}

CompareReport report_of(const ReproduceOptions& options, const std::filesystem::path& folder) {
  CompareReport report;
  report.command = options.command;
  std::vector<ComparedRun> runs;
  std::vector<Manifest> manifests;
  const std::vector<std::filesystem::path> folders{options.run, folder};
  for (const std::filesystem::path& path : folders) {
    StoredRun stored = read_stored_run(path, WithSamples::no);
    manifests.push_back(stored.manifest);
    CompareReport::Run& run = report.runs.emplace_back();
    run.letter = static_cast<char>('A' + report.runs.size() - 1);
    run.folder = path;
    run.manifest = stored.manifest;
    run.differences = differing(fields_of(manifests.front().environment, run.manifest.environment));
    runs.push_back(compared_run(std::move(stored)));
  }
  report.comparison = compare_runs(runs, {});
  report.code = exit_code_of(report.comparison);
  return report;
}

/// Those that the original was started on; empty: on this machine alone.
std::string hosts_of(const ReproduceOptions& options) {
  const std::filesystem::path plan = options.run / kPlanFile;
  return std::filesystem::exists(plan) ? host_words(read_plan(options.run).settings.hosts) : "";
}

/// With what the original's command line said of how it was started, and on its hosts where
/// nothing says of others.
ResolvedStudy study_of(ReproduceOptions options, const Manifest& original) {
  StudyConfig config = config_of(original);
  if (options.hosts.empty() && config.hosts.empty() && !options.job && host_variables().empty()) {
    config.hosts = hosts_of(options);
  }
  options.oversubscribe = options.oversubscribe || original.origin == "emulated";
  const std::string mpirun = argument_of(original.command, "--mpirun");
  if (options.mpirun.empty()) options.mpirun = mpirun;
  if (options.launcher.empty()) options.launcher = argument_of(original.command, "--launcher");
  require_same_origin(original, config);
  PlanLimits limits = limits_of(options, config);
  std::vector<PlannedLaunch> plan = plan_of(config, limits);
  return resolve(std::move(options), std::move(config), std::move(limits), std::move(plan));
}

ExitCode reproduce(const ReproduceOptions& options) {
  const ResolvedStudy study = study_of(options, original_of(options));
  Console console(/*speaks=*/true, options.quiet);
  if (options.dry_run) {
    print_plan(study, console);
    return ExitCode::ok;
  }
  StudyRun run = open_study(study, console);
  const Interruption interruption;
  run.measure(interruption.stop());
  run.summarise();
  CompareReport report = report_of(options, run.folder());
  const bool is_whole = !interruption.stop() && run.failed() == 0;
  if (is_whole) {
    run.write(comparison_schema(), report.comparison.rows);
  } else if (report.code != ExitCode::nothing_measured) {
    report.code = ExitCode::incomplete;
  }
  run.seal(is_whole ? "complete" : "partial");
  if (options.figures) draw_run(run.folder(), console);
  console.result(table_of(report));
  console.note(fmt::format("results: {}", run.folder().string()));
  if (!is_whole) {
    say_how_to_go_on(run, interruption, console);
    // What was compared now would be outdated then, and is in no file.
    console.note(
        "once it is complete: " +
        shell_line({"scalebench", "compare", options.run.string(), run.folder().string()}));
  }
  const ExitCode code =
      name_suspects({run.folder()}, "table", options.fail_on_suspect, console, report.code);
  return interruption.stop() ? interruption.exit_code() : code;
}

}  // namespace

void add_reproduce(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<ReproduceOptions>(verb, invocation, reproduce, unless_dry_run);
  takes_runs(verb.add_option("run", options.run, "folder of the run that is measured again"))
      ->required();
  add_start_options(verb, options);
  add_figures_option(verb, options);
  add_fail_on_option(verb, options.fail_on_suspect);
}

}  // namespace scalebench
