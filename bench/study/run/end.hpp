// SPDX-License-Identifier: Apache-2.0
// What happens once the launches of a study are over, whether it was begun or taken up again: the
// tables, the seal, what is printed and drawn, and the exit code.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/cli/exit.hpp"
#include "bench/record/manifest.hpp"
#include "bench/study/run/run.hpp"

namespace scalebench {

/// The tables and the seal of a run. Returns whether every launch has ended well; else it is
/// partial, and a warning says how to go on with it.
bool close_run(StudyRun& run, bool interrupted, bool accept_failed, Console& console);

/// The launches of `run` and `resume` and what comes after: the tables, into files and to stdout;
/// the seal; figures and report; and as the last line, of several hosts, the one at fault.
ExitCode measure_to_end(StudyRun& run, const EndOptions& options, Console& console);

/// The last line of whatever measures on several hosts: the one at fault, by hosts.csv of these
/// runs, whose launches count together; nothing where no hosts were looked at. Returns `code`, or
/// regression where it was ok, a host is named and that was to count.
ExitCode name_suspects(const std::vector<std::filesystem::path>& runs, bool fail_on_host,
                       Console& console, ExitCode code);

}  // namespace scalebench
