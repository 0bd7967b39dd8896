// SPDX-License-Identifier: Apache-2.0
// Every program of ranks looks at its hosts before it measures, and ends with a line that names the
// one at fault: links, lost messages and processors of all hosts, into hosts.csv.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/console.hpp"
#include "bench/hosts/verdict.hpp"
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

/// What a launch found out about its hosts; empty on one host.
struct HostReport {
  std::vector<std::string> hosts;  // names, by number
  std::vector<Link> links;
  std::vector<HostVerdict> verdicts;  // by number
  std::vector<ResultRow> rows;        // of hosts.csv
};

/// How a program looks, and where it says what it saw.
struct HostLook {
  const HostOptions& options;
  Recorder& recorder;
  Console& console;
};

/// Collective. Looks at all hosts, and again where one looks bad: a moment's disturbance is not its
/// fault. Takes about 4 s for four hosts that share a machine, twice that where one looks bad, and
/// 0.6 s more for each further host. Rows go to hosts.csv, who is named to stderr at once. Empty
/// where that is not wanted, and on one host.
HostReport look_at_hosts(const Ranks& ranks, const HostLook& look);

/// Lines of comment to stand above a table; "" on one host.
std::string host_table(const HostReport& report);

/// The last line, which names the host at fault, to stdout, or where that is for programs (csv,
/// json) to stderr. In json stdout ends with a line of its own about the hosts. Returns `code`, or
/// regression where it was ok, a host is named and that was to count.
ExitCode conclude(const HostReport& report, const HostOptions& options, std::string_view format,
                  Console& console, ExitCode code);

}  // namespace scalebench
