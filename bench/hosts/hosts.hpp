// SPDX-License-Identifier: Apache-2.0
// Every program of ranks looks at its hosts before it measures, and ends with a line that names the
// one at fault: links, lost messages and processors of all hosts, into hosts.csv.
#pragma once

#include <string_view>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/program/program.hpp"
#include "bench/program/recorder.hpp"
#include "bench/record/result_row.hpp"

namespace scalebench {

struct HostOptions {
  bool look = true;           // at links and processors, where there are several hosts
  bool fail_on_host = false;  // a host that is named makes the exit code 1
};

/// --no-links and --fail-on.
void add_host_options(CLI::App& app, HostOptions& options);

/// Collective. Looks at all hosts, and again where one looks bad: a moment's disturbance is not its
/// fault. Takes about 4 s for four hosts that share a machine, twice that where one looks bad, and
/// 0.6 s more for each further host. Returns the rows of hosts.csv, which are written, and names
/// who is at fault to stderr at once. Empty where that is not wanted, and on one host.
std::vector<ResultRow> look_at_hosts(const Ranks& ranks, const HostOptions& options,
                                     Recorder& recorder, Console& console);

/// The last line, which names the host at fault, to stdout, or where that is for programs (csv,
/// json) to stderr. In json stdout ends with a line of its own about the hosts. Returns `code`, or
/// regression where it was ok, a host is named and that was to count.
ExitCode conclude(const std::vector<ResultRow>& hosts, const HostOptions& options,
                  std::string_view format, Console& console, ExitCode code);

}  // namespace scalebench
