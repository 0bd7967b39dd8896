// SPDX-License-Identifier: Apache-2.0
// Looks at the hosts before anything is measured: a tiny real launch of each program, one rank a
// host. Finds hosts that do not answer, and hosts with other binaries or libraries; these are left
// out, and the study goes on with the others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/launch/launcher.hpp"
#include "bench/machine/identity.hpp"
#include "bench/record/manifest.hpp"
#include "bench/record/result_row.hpp"

namespace scalebench {

/// In the order asked, as the manifest has them.
using FoundHosts = std::vector<FoundHost>;

/// Starts each of `binaries` (name: SHA-256 of the file here) on all hosts of `settings`; where
/// that fails, on each alone, side by side. A host that says nothing for 30 s counts as
/// unreachable. In a process that a platform started beside others, as `variables` say, Slurm's are
/// taken from it first: inside a step mpirun would take the hosts for the step's, and need another
/// step. Throws UsageError there, where no rank can be started on another host: it says what is
/// missing, and what to type on this platform.
FoundHosts survey_hosts(const LaunchSettings& settings,
                        const std::map<std::string, std::string>& binaries,
                        const EnvironmentVariables& variables = {});

/// Those that are "ok".
Hosts usable(const FoundHosts& hosts);

/// Enters what a program said on the usable hosts, in their order. Leaves out those where its file
/// is another than here, which has that SHA-256, or its libraries are not the first host's.
void enter(FoundHosts& hosts, const std::vector<Identity>& identities, const std::string& sha256);

/// "h1 and h2 are one machine", where usable hosts with different names are; else empty.
std::string one_machine(const FoundHosts& hosts);

/// In what the hardware of usable hosts differs, one line for each field: "processor: A on h1, B on
/// h2 and h3".
std::vector<std::string> differences(const FoundHosts& hosts);

/// Makes the hosts of `settings` those that were found usable. Returns what makes the rows emulated
/// from now on: one_machine(), unless they are so already. Throws UsageError when a launch has more
/// ranks on a host than that has cores or devices for them.
std::string settle(LaunchSettings& settings, const FoundHosts& hosts,
                   const std::vector<PlannedLaunch>& plan);

/// Whether the ranks of a launch, by the program's own word, were in blocks of as many as were
/// asked for, each on a host of its own, whichever these are: one line that says the first
/// difference, empty where there is none. Of `hosts` that call themselves alike, nobody can tell
/// whether two blocks are on one.
std::string misplaced(const std::vector<RankPlace>& places, const PlannedLaunch& launch,
                      const FoundHosts& hosts);

}  // namespace scalebench
