// SPDX-License-Identifier: Apache-2.0
// What happens once the launches of a study are over, whether it was begun or taken up again: the
// tables, the seal, what is printed and drawn, and the exit code.
#pragma once

#include "bench/cli/console.hpp"
#include "bench/exit_code.hpp"
#include "bench/interruption.hpp"
#include "bench/verbs/study_run.hpp"

namespace scalebench {

struct EndOptions {
  bool figures = true;
  bool metrics = false;        // also lines for a regular expression
  bool accept_failed = false;  // a run with failed launches may be complete
};

/// The end of `run`, `certify` and `resume`: the tables, into files and to stdout; the seal,
/// "complete" when every launch has ended well, else "partial", with a line that says how to go on;
/// and figures and report, unless it was an A/A comparison.
ExitCode end_study(StudyRun& study, const Interruption& interruption, const EndOptions& options,
                   Console& console);

}  // namespace scalebench
