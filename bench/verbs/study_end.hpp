// SPDX-License-Identifier: Apache-2.0
// What happens once the launches of a study are over, whether it was begun or taken up again: the
// tables, the seal, what is printed and drawn, and the exit code.
#pragma once

#include "bench/cli/console.hpp"
#include "bench/exit_code.hpp"
#include "bench/interruption.hpp"
#include "bench/verbs/study_run.hpp"

namespace scalebench {

/// Summarises and seals: "complete" when every launch has ended well, else "partial", which
/// `scalebench resume` goes on with.
void close_study(StudyRun& study, const Interruption& interruption);

/// "partial: ..., go on with: scalebench resume RUN" when that is so.
void say_how_to_go_on(const StudyRun& study, const Interruption& interruption, Console& console);

/// The end of `run`, `certify` and `resume`: closes, prints the tables, and draws unless it was an
/// A/A comparison.
ExitCode end_study(StudyRun& study, const Interruption& interruption, bool figures,
                   Console& console);

}  // namespace scalebench
