// SPDX-License-Identifier: Apache-2.0
// scalebench run CONFIG: plan, launch everything, put the rows together, draw, report.
#include "bench/study/run/end.hpp"
#include "bench/study/verbs/verb.hpp"

namespace scalebench {
namespace {

ExitCode run_study(StudyChoice options) {
  enter_job(options);
  const EndOptions end{.metrics = options.metrics || options.job,
                       .fail_on_suspect = options.fail_on_suspect};
  return measure_study(resolve(options), end);
}

}  // namespace

void add_run(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<StudyChoice>(verb, invocation, run_study, unless_dry_run);
  add_study_options(verb, options);
  add_start_options(verb, options);
  add_figures_option(verb, options);
  verb.add_flag("--metrics", options.metrics,
                "also print lines for a regular expression, as inside managed jobs");
  add_fail_on_option(verb, options.fail_on_suspect);
}

}  // namespace scalebench
