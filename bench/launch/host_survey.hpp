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

struct SurveyedHost {
  Host host;                         // as asked
  std::string status = "ok";         // or "unreachable", "different"
  std::string note;                  // one line that names the host, where it is not ok
  std::vector<Identity> identities;  // one for each program that answered

  bool usable() const { return status == "ok"; }
};

struct HostSurvey {
  std::vector<SurveyedHost> hosts;  // in the order asked

  Hosts usable() const;
  /// "h1 and h2 are one machine", where hosts with different names are; else empty.
  std::string one_machine() const;
  /// In what the hardware of usable hosts differs, one line for each field: "processor: A on h1, B
  /// on h2 and h3".
  std::vector<std::string> differences() const;
};

/// Starts each of `binaries` (name: SHA-256 of the file here) on all hosts of `settings`; where
/// that fails, on each alone, side by side. A host that says nothing for `patience_seconds` counts
/// as unreachable.
HostSurvey survey_hosts(const LaunchSettings& settings,
                        const std::map<std::string, std::string>& binaries,
                        int patience_seconds = 30);

/// What is compared: binaries with those here, libraries with the first host's.
void leave_out_different(HostSurvey& survey, const std::map<std::string, std::string>& binaries);

/// Throws UsageError when a launch has more ranks on a host than that has cores or devices for
/// them.
void require_places(const HostSurvey& survey, const std::vector<PlannedLaunch>& plan,
                    const LaunchSettings& settings);

/// Makes the hosts of `settings` those that the survey found usable. Throws as require_places does.
/// Returns what makes the rows emulated from now on: survey.one_machine(), unless they are so
/// already.
std::string settle(LaunchSettings& settings, const HostSurvey& survey,
                   const std::vector<PlannedLaunch>& plan);

/// As the manifest has them.
std::vector<FoundHost> found_hosts(const HostSurvey& survey);

/// Whether the ranks of a launch, by the program's own word, were in blocks of as many as were
/// asked for, each on a host of its own, whichever these are: one line that says the first
/// difference, empty where there is none. Of `hosts` that call themselves alike, nobody can tell
/// whether two blocks are on one.
std::string misplaced(const std::vector<RankPlace>& places, const PlannedLaunch& launch,
                      const std::vector<FoundHost>& hosts);

}  // namespace scalebench
