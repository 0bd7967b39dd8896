// SPDX-License-Identifier: Apache-2.0
// scalebench resume RUN: goes on with a run that was killed, interrupted, or ran out of disk. What
// has ended stays as it is; a launch that had not is started again as a whole. Where only failed
// launches are left, --failed starts them again, and without it the run is sealed with them.
// Exit: as run; ok when the run is complete already.
#include <fmt/format.h>

#include "bench/cli/console.hpp"
#include "bench/record/seal.hpp"
#include "bench/study/run/end.hpp"
#include "bench/study/run/run.hpp"
#include "bench/study/verbs/verb.hpp"

namespace scalebench {
namespace {

ExitCode resume(const ResumeOptions& options) {
  Console console(/*speaks=*/true, options.quiet);
  if (is_sealed(options.run)) {
    console.result(fmt::format("{} is complete: nothing to resume\n", options.run.string()));
    return ExitCode::ok;
  }
  StudyRun study = reopen_study(options, console);
  // Where nothing is left to be started, whoever asks takes the failed launches as they are.
  const bool accepts = study.launches_left() == 0;
  const Interruption interruption;
  study.measure(interruption.stop());
  const EndOptions end{.figures = options.figures, .accept_failed = accepts};
  return end_study(study, interruption, end, console);
}

}  // namespace

void add_resume(CLI::App& verb, Invocation& invocation) {
  auto& options = options_of<ResumeOptions>(verb, invocation, resume,
                                            [](const ResumeOptions&) { return true; });
  verb.add_option("run", options.run, "folder of an unfinished run")->required();
  verb.add_flag("--failed", options.failed, "start failed launches again too");
  verb.add_flag("--allow-changed", options.allow_changed,
                "go on although programs, commit or hardware are others; the manifest says so");
  verb.add_flag("!--no-figures", options.figures, "no figures, no report.html");
  verb.add_flag("-q,--quiet", options.quiet, "no progress");
}

}  // namespace scalebench
