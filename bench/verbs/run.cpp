// SPDX-License-Identifier: Apache-2.0
// scalebench run CONFIG: plan, launch everything, put the rows together, draw, report.
#include <CLI/CLI.hpp>
#include <memory>

#include "bench/interruption.hpp"
#include "bench/verbs/job_setup.hpp"
#include "bench/verbs/study_choice.hpp"
#include "bench/verbs/study_end.hpp"
#include "bench/verbs/study_setup.hpp"
#include "bench/verbs/verb.hpp"

namespace scalebench {
namespace {

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
  StudyRun study = open_study(options, config, plan, console);
  study.measure(interruption.stop());
  return end_study(study, interruption,
                   {.figures = options.figures, .metrics = options.metrics || options.job},
                   console);
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
    invocation.starts_ranks = !options->dry_run;
    invocation.chosen = [options] { return run_study(*options); };
  });
}

}  // namespace scalebench
