// SPDX-License-Identifier: Apache-2.0
// scalebench run CONFIG: plan, launch everything, put the rows together, draw, report.
#include <CLI/CLI.hpp>
#include <memory>

#include "bench/cli/exit.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/open.hpp"
#include "bench/study/run/resolved_study.hpp"
#include "bench/study/verbs/verb.hpp"

namespace scalebench {
namespace {

ExitCode run_study(StudyChoice options) {
  Console console(/*speaks=*/true, options.quiet, options.color);
  enter_job(options);
  const ResolvedStudy study = resolve(options);
  if (options.dry_run) {
    print_plan(study, console);
    return ExitCode::ok;
  }
  const Interruption interruption;
  StudyRun run = open_study(study, console);
  run.measure(interruption.stop());
  return end_study(run, interruption,
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
