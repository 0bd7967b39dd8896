// SPDX-License-Identifier: Apache-2.0
// scalebench run CONFIG: plan, launch everything, put the rows together, draw, report.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "bench/interruption.hpp"
#include "bench/verbs/drawing.hpp"
#include "bench/verbs/fit_table.hpp"
#include "bench/verbs/scaling_table.hpp"
#include "bench/verbs/study_choice.hpp"
#include "bench/verbs/verb.hpp"

namespace scalebench {
namespace {

ExitCode exit_code_of(const StudyRun& study) {
  if (study.measured() == 0) return ExitCode::nothing_measured;
  return study.failed() > 0 ? ExitCode::incomplete : ExitCode::ok;
}

ExitCode run_study(StudyChoice options) {
  const StudyConfig config = config_of(options);
  const std::vector<PlannedLaunch> plan = plan_of(config, limits_of(options, config));
  Console console(/*speaks=*/true, options.quiet);
  if (options.dry_run) {
    print_plan(options, config, plan, console);
    return ExitCode::ok;
  }
  StudyRun study = open_study(options, config, plan, console);
  const Interruption interruption;
  study.measure(interruption.stop());
  study.summarise();
  study.seal(interruption.stop() ? "partial" : "complete");
  console.result(fit_table(study.fits()));
  console.result(scaling_table(study.scaling()));
  draw_run(study.folder(), console);
  console.note(fmt::format("results: {}", study.folder().string()));
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
  verb.callback([options, &invocation] {
    options->command = invocation.command;
    invocation.chosen = [options] { return run_study(*options); };
  });
}

}  // namespace scalebench
