// SPDX-License-Identifier: Apache-2.0
// What happens once the launches of a study are over, whether it was begun or taken up again: the
// tables, the seal, what is printed and drawn, and the exit code.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/cli/exit.hpp"
#include "bench/record/manifest.hpp"
#include "bench/study/run/run.hpp"

namespace scalebench {

struct EndOptions {
  bool figures = true;
  bool metrics = false;        // also lines for a regular expression
  bool accept_failed = false;  // a run with failed launches may be complete
  bool fail_on_host = false;   // a host that is named at the end makes the exit code 1
};

/// What would be started, with --dry-run, or all of a study from its folder to its end. Whether
/// figures are drawn is the study's to say.
ExitCode measure_study(const ResolvedStudy& study, EndOptions end = {});

/// What a user can do about the launches of `run` that failed. One that was refused with exit code
/// 2 is refused again, as a run keeps its config for ever.
std::string way_past_failures(const std::vector<LaunchRecord>& launches, const std::string& run);

/// One line: why a run is partial, and how to go on with it.
void say_how_to_go_on(const StudyRun& study, const Interruption& interruption, Console& console);

/// The end of `run` and `resume`: the tables, into files and to stdout; the seal, "complete" when
/// every launch has ended well, else "partial", with a line that says how to go on; figures and
/// report; and as the last line, of several hosts, the one at fault.
ExitCode end_study(StudyRun& study, const Interruption& interruption, const EndOptions& options,
                   Console& console);

/// The last line of whatever measures on several hosts: the one at fault, by hosts.csv
/// of these runs, whose launches count together. To stdout, or where that is for programs
/// (another `format` than table) to stderr; nothing where no hosts were looked at. Returns `code`,
/// or regression where it was ok, a host is named and that was to count.
ExitCode name_suspects(const std::vector<std::filesystem::path>& runs, std::string_view format,
                       bool fail_on_host, Console& console, ExitCode code);

}  // namespace scalebench
