// SPDX-License-Identifier: Apache-2.0
// An unfinished run, ready to go on: what it began with is still the same, what ended is kept, what
// did not is set aside.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/verbs/study_run.hpp"

namespace scalebench {

struct ResumeOptions {
  std::filesystem::path run;
  bool failed = false;         // start failed launches again too
  bool allow_changed = false;  // programs, commit or hardware may be others
  bool figures = true;
  bool quiet = false;
  std::vector<std::string> command;  // argv as typed
};

/// Takes the run's folder for this process. Throws UsageError, one line: it is no run, complete, or
/// being written; its config or plan was changed; the programs, the commit or the hardware are not
/// those that it began with, unless that is allowed.
StudyRun reopen_study(const ResumeOptions& options, Console& console);

}  // namespace scalebench
