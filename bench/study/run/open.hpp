// SPDX-License-Identifier: Apache-2.0
// A study's folder, open for measuring: a new one, or that of an unfinished run, ready to go on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/record/manifest.hpp"
#include "bench/study/run/resolved_study.hpp"
#include "bench/study/run/run.hpp"

namespace scalebench {

/// What a new run says of itself before its first launch. `settings`: the study's, with the run's
/// name and what looking at the hosts has changed.
Manifest manifest_of(const ResolvedStudy& study, const LaunchSettings& settings);

/// Looks at the hosts, makes the folder with its config.toml, plan.json and manifest and passes on
/// the warnings. Throws UsageError, before there is a folder, when no host is left or the folder
/// cannot hold a run.
StudyRun open_study(const ResolvedStudy& study, Console& console);

struct ResumeOptions {
  std::filesystem::path run;
  bool failed = false;         // start failed launches again too
  bool allow_changed = false;  // programs, commit or hardware may be others
  bool figures = true;
  bool quiet = false;
  std::vector<std::string> command;  // argv as typed
};

/// What the run began with is still the same, what ended is kept, what did not is set aside. Takes
/// the run's folder for this process. Throws UsageError, one line: it is no run, complete, or
/// being written; its config or plan was changed; the programs, the commit or the hardware are not
/// those that it began with, unless that is allowed.
StudyRun reopen_study(const ResumeOptions& options, Console& console);

}  // namespace scalebench
