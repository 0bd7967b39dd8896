// SPDX-License-Identifier: Apache-2.0
#include "bench/verbs/study_end.hpp"

#include <fmt/format.h>

#include <map>

#include "bench/study/certificate.hpp"
#include "bench/study/metric_lines.hpp"
#include "bench/verbs/certificate_table.hpp"
#include "bench/verbs/drawing.hpp"
#include "bench/verbs/fit_table.hpp"
#include "bench/verbs/job_setup.hpp"
#include "bench/verbs/scaling_table.hpp"

namespace scalebench {
namespace {

/// Prints what the A/A comparison says.
ExitCode certify(const StudyRun& study, const std::map<int, bool>& is_b, const Console& console) {
  const Certificate certificate = certificate_of(study.launches(allreduce_schema()), is_b);
  console.result(certificate_table(certificate, study.failed()));
  if (certificate.compared == 0) return ExitCode::nothing_measured;
  if (!certificate.incomplete.empty() || study.failed() > 0) return ExitCode::incomplete;
  return certificate.certified() ? ExitCode::ok : ExitCode::regression;
}

ExitCode exit_code_of(const StudyRun& study) {
  if (study.measured() == 0) return ExitCode::nothing_measured;
  return study.failed() > 0 ? ExitCode::incomplete : ExitCode::ok;
}

void say_how_to_go_on(const StudyRun& study, const Interruption& interruption, Console& console) {
  const std::string run = study.folder().string();
  if (interruption.stop()) {
    console.warn("partial: interrupted; everything that was measured is kept",
                 fmt::format("go on with: scalebench resume {}", run));
  } else {
    console.warn(fmt::format("partial: {} launches failed", study.failed()),
                 fmt::format("start them again: scalebench resume --failed {}; let them be: "
                             "scalebench resume {}",
                             run, run));
  }
}

}  // namespace

ExitCode end_study(StudyRun& study, const Interruption& interruption, const EndOptions& options,
                   Console& console) {
  study.summarise();
  const bool is_whole = !interruption.stop() && (study.failed() == 0 || options.accept_failed);
  study.seal(is_whole ? "complete" : "partial");
  const std::map<int, bool> is_b = sides_of(study.plan());
  ExitCode code = exit_code_of(study);
  if (!is_b.empty()) {
    code = certify(study, is_b, console);
  } else {
    console.result(fit_table(study.fits()));
    console.result(scaling_table(study.scaling()));
    if (options.metrics) console.result(metric_lines(study.folder()));
  }
  if (options.figures && is_b.empty()) draw_run(study.folder(), console);
  console.note(fmt::format("results: {}", study.folder().string()));
  note_job_account(study, console);
  if (!is_whole) say_how_to_go_on(study, interruption, console);
  return interruption.stop() ? interruption.exit_code() : code;
}

}  // namespace scalebench
