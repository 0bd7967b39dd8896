// SPDX-License-Identifier: Apache-2.0
// scalebench run CONFIG: plan, launch everything, put the rows together, draw, report. With
// --dry-run it prints what it would start, as commands to be typed or as plan.json, and touches
// nothing.
#include <unistd.h>

#include "bench/cli/command_line.hpp"
#include "bench/cli/help.hpp"
#include "bench/machine/managed_job.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/resolved_study.hpp"
#include "bench/study/verbs/verb.hpp"

namespace scalebench {
namespace {

struct RunOptions : StudyChoice {
  bool as_json = false;       // the plan, as the run keeps it
  bool says_results = false;  // --results was typed
};

/// A study inside a managed job: reads the job's variables of this process into `options`, below
/// what the command line says. A default that is not used is dropped, so that what remains is what
/// came from the job.
void enter_job(RunOptions& options) {
  const EnvironmentVariables variables = environment_variables(::environ);
  if (!in_managed_job(variables)) return;
  JobFolders& job = options.job.emplace(job_folders(variables));
  if (!options.out.empty() || options.says_results) job.results.clear();
  if (!job.results.empty()) options.results = job.results;
  job.checkpoints.clear();  // a study keeps no model; bench_epoch --checkpoint does
  options.end.metrics = true;
}

ExitCode run_study(RunOptions options) {
  enter_job(options);
  const ResolvedStudy study = resolve(options);
  Console console(/*speaks=*/true, options.quiet);
  if (options.as_json) {
    console.result(plan_text({study.plan, study.settings}));
    return ExitCode::ok;
  }
  if (options.dry_run) {
    print_plan(study, console);
    return ExitCode::ok;
  }
  StudyRun run = open_study(study, console);
  return measure_to_end(run, options.end, console);
}

}  // namespace

void add_run(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<RunOptions>(verb, invocation, run_study, unless_dry_run);
  verb.add_option("config", options.config,
                  "TOML file, as configs/quick.toml, or the name of one there")
      ->required()
      ->type_name("FILE");
  verb.add_option("--ranks", options.ranks, "numbers of ranks, as 1,2,4, instead of the config's");
  verb.add_option("--launches", options.launches, "fresh launches of each case");
  add_run_options(verb, options);
  verb.get_option("--results")->each([&options](const std::string&) {
    options.says_results = true;
  });
  verb.add_option("--out", options.out, "the run's new folder itself")->type_name("DIR");
  verb.add_flag("!--no-figures", options.end.figures, "no figures, no report.html");
  {
    const Heading parallelism(verb, kParallelism);
    verb.add_option("--layouts", options.layouts,
                    "hosts x ranks of each, as 1x1,1x2,2x2, instead of numbers of ranks");
  }
  const Heading recording(verb, kRecording);
  add_format_option(verb, options.as_json)->needs(verb.get_option("--dry-run"));
  verb.add_flag("--metrics", options.end.metrics,
                "also print lines for a regular expression, as inside managed jobs");
  add_fail_on_option(verb, options.end.fail_on_host);
}

}  // namespace scalebench
