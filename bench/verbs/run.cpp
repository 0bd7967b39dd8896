// SPDX-License-Identifier: Apache-2.0
// scalebench run CONFIG: plan, launch everything, put the rows together, draw, report.
#include <fmt/format.h>

#include <atomic>
#include <memory>

#include "bench/interruption.hpp"
#include "bench/study/metric_lines.hpp"
#include "bench/verbs/fit_table.hpp"
#include "bench/verbs/job_setup.hpp"
#include "bench/verbs/scaling_table.hpp"
#include "bench/verbs/study_choice.hpp"
#include "bench/verbs/verb.hpp"

namespace scalebench {
namespace {

/// Runs a script of ours on the finished folder; a failure costs a picture, not the run.
void draw(const std::filesystem::path& folder, std::string_view script, Console& console) {
  const std::filesystem::path scripts = scripts_folder();
  const std::vector<std::string> command{(scripts / "python").string(), (scripts / script).string(),
                                         folder.string()};
  const std::atomic<bool> never = false;
  // Pictures are no part of what the manifest's hashes cover.
  const std::filesystem::path logs = folder / "figures" / script;
  std::filesystem::create_directories(logs);
  const LaunchEnd end = run_launch(command, {}, logs, 300, never);
  if (end.ok) {
    std::filesystem::remove_all(logs);
  } else {
    console.warn(fmt::format("{}: {}", script, end.why), (logs / "stderr.log").string());
  }
}

ExitCode exit_code_of(const StudyRun& study) {
  if (study.measured() == 0) return ExitCode::nothing_measured;
  return study.failed() > 0 ? ExitCode::incomplete : ExitCode::ok;
}

ExitCode run_study(StudyChoice options) {
  Console console(/*speaks=*/true, options.quiet, options.color);
  enter_job(options);
  const StudyConfig config = config_of(options);
  const std::vector<PlannedLaunch> plan = plan_of(config, limits_of(options, config));
  if (options.dry_run) {
    print_plan(options, config, plan, console);
    return ExitCode::ok;
  }
  const Interruption interruption;
  if (waits_for_first_host(options)) return stand_by(*options.job, interruption, console);
  StudyRun study = open_study(options, config, plan, console);
  study.measure(interruption.stop());
  study.summarise();
  study.seal(interruption.stop() ? "partial" : "complete");
  console.result(fit_table(study.fits()));
  console.result(scaling_table(study.scaling()));
  if (options.metrics || options.job) console.result(metric_lines(study.folder()));
  draw(study.folder(), "plot.py", console);
  draw(study.folder(), "report.py", console);
  console.note(fmt::format("results: {}", study.folder().string()));
  note_job_account(study, console);
  if (interruption.stop()) {
    console.warn("partial: interrupted; everything that was measured is kept");
    return interruption.exit_code();
  }
  return exit_code_of(study);
}

}  // namespace

void add_run(CLI::App& verb, Invocation& invocation) {
  const auto options = std::make_shared<StudyChoice>();
  add_study_options(verb, *options);
  add_start_options(verb, *options);
  verb.add_flag("--metrics", options->metrics,
                "also print lines for a regular expression, as inside managed jobs");
  verb.callback([options, &invocation] {
    options->command = invocation.command;
    invocation.chosen = [options] { return run_study(*options); };
  });
}

}  // namespace scalebench
